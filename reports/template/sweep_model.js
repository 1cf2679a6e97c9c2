// The sweep of a page: columns, points, and which way is better.
//
//   column {key, label, isAxis, isNumber, isVaried, more}   more: more of it is better
//   point {number, values[column], run}           run: its YAML

import { bytesText, countText, digits, rateText, shareText, timeText } from './text.js';

const SCHEMA = 'shardsim-sweep-page-1';
const MORE_IS_BETTER = new Set(['tokens_per_s', 'tokens_per_s_per_chip', 'mfu', 'hfu', 'fits_memory']);
const OBJECTIVES = { step_time: 'step_time_s' };

// By the end of a column's name, which is its unit; the first that fits.
const UNITS = [
  [/_bytes_per_s$/, rateText],
  [/tokens_per_s/, (value) => countText(Number(digits(value)))],
  [/_bytes$/, bytesText],
  [/_s$/, timeText],
  [/^[mh]fu$/, shareText],
  [/^fits_memory$/, (value) => (value ? 'yes' : 'no')],
];

export function cellText(column, value) {
  if (value === null) return '–';
  if (typeof value !== 'number') return String(value);
  const unit = UNITS.find(([end]) => end.test(column.key));
  if (unit) return unit[1](value);
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
}

const withoutUnit = (key) => key.replace(/^axis_/, '').replace(/_(bytes_per_s|bytes|s)$/, '');

function makeColumn(key, index, rows) {
  const known = rows.map((row) => row[index]).filter((value) => value !== null);
  return {
    key,
    index,
    label: /_per_s$/.test(key) && !/_bytes_per_s$/.test(key) ? key : withoutUnit(key),
    isAxis: key.startsWith('axis_'),
    isNumber: known.length > 0 && known.every((value) => typeof value === 'number'),
    isVaried: new Set(known).size > 1,
    more: MORE_IS_BETTER.has(key),
  };
}

export function readSweep(data) {
  if (data.schema !== SCHEMA) throw new Error(`expected ${SCHEMA}, found ${data.schema}`);
  const columns = data.columns.map((key, index) => makeColumn(key, index, data.rows));
  const labels = columns.map((column) => column.label);
  for (const column of columns)
    if (labels.indexOf(column.label) !== labels.lastIndexOf(column.label)) column.label = column.key;
  const at = (key) => columns.find((column) => column.key === key);
  const objective = at(OBJECTIVES[data.objective] ?? data.objective);
  const status = at('status');
  const points = data.rows.map((values, i) => ({
    number: values[0],
    values,
    run: data.runs[i].map((line) => data.lines[line]).join(''),
    isReplayed: values[status.index] === 'ok' && values[objective.index] !== null,
  }));
  return { ...data, columns, at, objective, points, axes: columns.filter((c) => c.isAxis && c.isVaried) };
}

export const valueOf = (point, column) => point.values[column.index];

// Below 0: a is before b when the best comes first.
export const byObjective = (sweep) => (a, b) =>
  (sweep.objective.more ? -1 : 1) * (valueOf(a, sweep.objective) - valueOf(b, sweep.objective)) ||
  a.number - b.number;

// Values of a column in their order: numbers by size, texts as the points are numbered.
export function valuesOf(unsorted, column) {
  const points = column.isNumber ? unsorted : [...unsorted].sort((a, b) => a.number - b.number);
  const values = [...new Set(points.map((point) => valueOf(point, column)))].filter((v) => v !== null);
  return column.isNumber ? values.sort((a, b) => a - b) : values;
}
