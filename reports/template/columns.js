// Columns of whole numbers, as sim/report/columns.cpp writes them: base64 of LEB128 varints. The
// columns named below hold differences to the row before, zigzag coded.

const DIFFERENCES = new Set(['begin', 'at', 'from', 'to', 'origin', 'cause']);

// Bit operations are exact below this, and much faster than division.
const INT_LIMIT = 2 ** 31;

function signed(zigzag) {
  if (zigzag < INT_LIMIT) return (zigzag >>> 1) ^ -(zigzag & 1);
  return zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
}

// `Type`: the typed array of the result. Times take more than 32 bits: Float64Array is exact to
// 2^53.
export function decodeColumn(base64, count, { Type = Float64Array, differences = false } = {}) {
  const bytes = atob(base64);
  const column = new Type(count);
  let at = 0;
  let before = 0;
  for (let row = 0; row < count; ++row) {
    let value = bytes.charCodeAt(at++);
    if (value > 127) {
      value &= 127;
      let byte;
      let scale = 128;
      do {
        byte = bytes.charCodeAt(at++);
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
    }
    column[row] = differences ? (before += signed(value)) : value;
  }
  if (at !== bytes.length) {
    throw new Error(`a column of ${count} rows has ${bytes.length} bytes, ${at} were read`);
  }
  return column;
}

// `types`: { column name: typed array }. A column that is missing is zero in every row.
export function decodeColumns(columns, types) {
  const decoded = { count: columns.count };
  for (const [name, Type] of Object.entries(types)) {
    decoded[name] =
      name in columns
        ? decodeColumn(columns[name], columns.count, { Type, differences: DIFFERENCES.has(name) })
        : new Type(columns.count);
  }
  return decoded;
}

// The rows of a step function, which come without their count.
export function decodeList(base64, differences = false) {
  const bytes = atob(base64);
  let count = 0;
  for (let at = 0; at < bytes.length; ++at) count += bytes.charCodeAt(at) < 128 ? 1 : 0;
  return decodeColumn(base64, count, { differences });
}
