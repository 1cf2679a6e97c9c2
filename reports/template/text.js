// Quantities as the program prints them: four significant digits and a unit.

function scaled(value, base, units) {
  let step = 0;
  while (step + 1 < units.length && Math.abs(Number(digits(value))) >= base) {
    value /= base;
    ++step;
  }
  return `${digits(value)} ${units[step]}`;
}

export function digits(value, precision = 4) {
  return String(Number(value.toPrecision(precision)));
}

export function timeText(seconds) {
  if (seconds === 0) return '0 s';
  if (Math.abs(seconds) >= 1) return `${digits(seconds)} s`;
  return scaled(seconds * 1e9, 1000, ['ns', 'us', 'ms', 's']);
}

export const bytesText = (bytes) => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);

export const rateText = (bytesPerSecond) =>
  scaled(bytesPerSecond, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);

export const shareText = (share) => `${(share * 100).toFixed(1)} %`;

export const countText = (count) => count.toLocaleString('en-US');

// `plural(1, 'slice')` is "1 slice".
export const plural = (count, noun) => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
