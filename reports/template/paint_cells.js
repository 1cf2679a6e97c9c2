// The pipeline view: one row per rank, a cell per work with the number of its micro-batch; later
// chunks lighter, the works of an overlapped pair in one frame, gaps where the rank idles.

import { FAINT, cellHalves } from './inks.js';
import { paintGaps } from './paint_gaps.js';
import { firstAbove } from './run_model.js';

const LEAST_FRAME = 6;  // px

export function paintCells(frame, row) {
  const { run, rank } = row;
  const { begin, end, second_code, firstOfRank } = run.cells;
  const { viewport, strips } = frame;
  const inks = frame.cellInks[run.index];
  const { from, to, scale } = viewport.inTicks(run.tick_s);
  paintGaps(frame, row);

  const last = firstOfRank[rank + 1];
  strips.startRow(row.y + 2, row.height - 4);
  for (let i = firstAbove(end, from, firstOfRank[rank], last); i < last && begin[i] < to; ++i) {
    const x0 = (begin[i] - from) * scale;
    const x1 = (end[i] - from) * scale;
    const halves = cellHalves(run, i);
    const share = (x1 - x0) / halves.length;
    halves.forEach(({ code, microbatch }, part) => {
      const ink = inks[part][i];
      const [left, right] = [x0 + part * share, x0 + (part + 1) * share];
      strips.add(left, right, ink);
      if (ink === FAINT) return;
      const text = code === 'O' ? 'opt' : String(microbatch);
      frame.labelInside(row, left, right, { text, ink, isDigits: true });
    });
    if (second_code[i] !== 0) frame.frames.push({ row, x0, x1 });
  }
  strips.endRow();
}

// Frames of overlapped pairs, over the cells.
export function paintFrames({ ctx, theme, viewport, frames }) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 2;
  for (const { row, x0, x1 } of frames) {
    if (x1 - x0 < LEAST_FRAME) continue;
    const left = viewport.left + Math.max(x0, -2);
    const right = Math.min(viewport.left + x1 - 1, viewport.right + 2);
    ctx.strokeRect(left, row.y + 2, right - left, row.height - 4);
  }
}

export function cellAt({ viewport }, { run, rank }, x) {
  const { begin, end, firstOfRank } = run.cells;
  const tick = viewport.timeAt(x) / run.tick_s;
  const last = firstOfRank[rank + 1];
  const i = firstAbove(end, tick, firstOfRank[rank], last);
  return i < last && begin[i] <= tick ? i : -1;
}
