// The pipeline view: one row per rank, a cell per work with the number of its micro-batch; later
// chunks lighter, the two works of an overlapped pair in one frame, white gaps where the rank idles.

import { FULL } from './batches.js';
import { FAINT, cellHalves } from './inks.js';
import { paintGaps } from './paint_gaps.js';
import { textOn } from './palette.js';
import { firstAbove } from './run_model.js';

const THIN = 1.5;

export function paintCells(frame, row) {
  const { run, rank } = row;
  const { begin, end, second_code, firstOfRank } = run.cells;
  const { viewport, thin } = frame;
  const [firstInks, secondInks] = frame.cellInks[run.index];
  const scale = viewport.pxPerSecond * run.tick_s;
  const from = viewport.from_s / run.tick_s;
  const to = viewport.to_s / run.tick_s;
  paintGaps(frame, row);

  const last = firstOfRank[rank + 1];
  thin.startRow(row.y + 2, row.height - 4);
  for (let i = firstAbove(end, from, firstOfRank[rank], last); i < last && begin[i] < to; ++i) {
    const x = viewport.left + (begin[i] - from) * scale;
    const width = (end[i] - begin[i]) * scale;
    if (width < THIN) {
      thin.add(x, width, firstInks[i]);
      continue;
    }
    const halves = cellHalves(run, i);
    const inks = [firstInks[i], secondInks[i]];
    halves.forEach((half, part) => {
      const share = width / halves.length;
      paintHalf(frame, row, half, inks[part], x + part * share, share);
    });
    if (second_code[i] !== 0) frame.frames.push({ x, y: row.y + 2, width, height: row.height - 4 });
  }
  thin.endRow();
}

function paintHalf(frame, row, { code, microbatch }, ink, x, width) {
  const { viewport } = frame;
  const x0 = Math.max(x, viewport.left);
  const x1 = Math.min(x + width - (width > 4 ? 1 : 0), viewport.right);
  if (x1 <= x0) return;
  frame.batches.add(ink, FULL, x0, row.y + 2, x1 - x0, row.height - 4);
  const label = { text: code === 'O' ? 'opt' : String(microbatch), isCentred: true, padding: 0.5 };
  if (ink === FAINT || !frame.labels.fits(frame.ctx, label.text, x1 - x0, label.padding)) return;
  const colour = textOn(frame.colours[ink]);
  frame.labels.add({ ...label, colour, x: x0, y: row.y + row.height / 2, width: x1 - x0 });
}

// Frames of overlapped pairs, over the cells.
export function paintFrames({ ctx, theme, viewport, frames }) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1.5;
  for (const { x, y, width, height } of frames) {
    if (width < 6) continue;
    const x0 = Math.max(x, viewport.left - 2);
    ctx.strokeRect(x0, y, Math.min(x + width - 1, viewport.right + 2) - x0, height);
  }
}

export function cellAt({ viewport }, { run, rank }, x) {
  const { begin, end, firstOfRank } = run.cells;
  const tick = viewport.timeAt(x) / run.tick_s;
  const last = firstOfRank[rank + 1];
  const i = firstAbove(end, tick, firstOfRank[rank], last);
  return i < last && begin[i] <= tick ? i : -1;
}
