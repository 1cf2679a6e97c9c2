// What a pixel or the keyboard points at: { type, run, row, index, … }; index is a slice, cell,
// bubble, or point of a step function.

import { cellAt } from './paint_cells.js';
import { gapAt } from './paint_gaps.js';
import { sliceAt } from './paint_slices.js';
import { stepAt } from './step_columns.js';

function found(type, row, index, more = {}) {
  return index < 0 ? null : { type, run: row.run, row, index, ...more };
}

const FINDERS = {
  slices: (frame, row, x) =>
    found('slice', row, sliceAt(frame, row, x)) ??
    (row.showsGaps ? found('bubble', row, gapAt(frame, row, x)) : null),
  cells: (frame, row, x) =>
    found('cell', row, cellAt(frame, row, x)) ?? found('bubble', row, gapAt(frame, row, x)),
  memory: (frame, row, x) => {
    const tick = frame.viewport.timeAt(x) / row.run.tick_s;
    return found('memory', row, stepAt(row.memory.at, tick), { tick });
  },
  link: (frame, row, x) => {
    const tick = frame.viewport.timeAt(x) / row.run.tick_s;
    return found('link', row, stepAt(row.link.at, tick), { tick });
  },
};

export function targetAt(chart, x, surfaceY) {
  if (x < chart.viewport.left || x > chart.viewport.right) return null;
  const row = chart.rowAt(surfaceY);
  return row === null ? null : (FINDERS[row.type]?.(chart, row, x) ?? null);
}

const TABLES = { slice: 'slices', cell: 'cells', bubble: 'bubbles' };

// [begin, end] in seconds.
export function timesOf({ type, run, index, tick }) {
  const table = run[TABLES[type]];
  if (table === undefined) return [tick * run.tick_s, tick * run.tick_s];
  return [table.begin[index] * run.tick_s, table.end[index] * run.tick_s];
}

// Its rectangle among all rows, in px.
export function boxOf(target, viewport) {
  const [begin, end] = timesOf(target);
  const x = viewport.xOf(begin);
  const { y, height } = target.row;
  return { x, width: Math.max(1, viewport.xOf(end) - x), y: y + 2, height: height - 4 };
}

export const isSame = (a, b) =>
  a !== null && b !== null && a.type === b.type && a.run === b.run && a.index === b.index;

// The target of a slice, null where its track is not shown.
export function sliceTarget(rows, run, index) {
  const track = run.tracks[run.slices.track[index]];
  const row = rows.find((one) => one.track === track);
  return row === undefined ? null : { type: 'slice', run, row, index };
}
