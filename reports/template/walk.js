// Walking through slices and cells in the order of rows and time, past what is set back.

import { FAINT } from './inks.js';

// [{ row, table, first, last }]: what of the rows can be walked.
function stretches(rows) {
  return rows.flatMap((row) => {
    const { run, rank } = row;
    if (row.type === 'slices') {
      return [{ row, type: 'slice', first: row.track.first, last: row.track.last }];
    }
    if (row.type !== 'cells') return [];
    const [first, last] = [run.cells.firstOfRank[rank], run.cells.firstOfRank[rank + 1]];
    return [{ row, type: 'cell', first, last }];
  });
}

export function isHit(chart, { type, run, index }) {
  if (type === 'slice') return chart.sliceInks[run.index][index] !== FAINT;
  if (type === 'cell') return chart.cellInks[run.index].some((inks) => inks[index] !== FAINT);
  return false;
}

const targetOf = ({ row, type }, index) => ({ type, run: row.run, row, index });

// The next hit after `from` (null: the first of all), or the one before with `step` -1; null at
// the end.
export function nextHit(chart, from, step = 1) {
  const all = stretches(chart.rows);
  let at = step > 0 ? 0 : all.length - 1;
  let index = null;
  if (from !== null) {
    at = all.findIndex(
      (one) => one.row === from.row && from.index >= one.first && from.index < one.last,
    );
    index = from.index + step;
  }
  for (; at >= 0 && at < all.length; at += step, index = null) {
    const { first, last } = all[at];
    index ??= step > 0 ? first : last - 1;
    for (; index >= first && index < last; index += step) {
      const target = targetOf(all[at], index);
      if (isHit(chart, target)) return target;
    }
  }
  return null;
}

// The first hit that ends after the left edge of the view, in the first row that is seen.
export function firstInView(chart) {
  const { viewport, scrollTop } = chart;
  const seen = stretches(chart.rows).filter(({ row }) => row.y + row.height > scrollTop);
  for (const one of seen) {
    for (let index = one.first; index < one.last; ++index) {
      const target = targetOf(one, index);
      const table = one.type === 'slice' ? one.row.run.slices : one.row.run.cells;
      const begin = table.begin[index] * one.row.run.tick_s;
      if (begin >= viewport.to_s) break;
      if (table.end[index] * one.row.run.tick_s > viewport.from_s && isHit(chart, target)) {
        return target;
      }
    }
  }
  return nextHit(chart, null);
}
