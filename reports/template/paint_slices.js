// A track: slices of one stream of a device, over the gaps in which its rank idles.

import { FULL } from './batches.js';
import { FAINT } from './inks.js';
import { paintGaps } from './paint_gaps.js';
import { textOn } from './palette.js';
import { firstAbove, sliceName } from './run_model.js';

const THIN = 1.5;  // px
const LEAST_LABEL = 26;

export function paintSlices(frame, row) {
  if (row.showsGaps) paintGaps(frame, row);
  const { run, track } = row;
  const { begin, end } = run.slices;
  const { batches, thin, viewport } = frame;
  const inks = frame.sliceInks[run.index];
  const { left, right } = viewport;
  const scale = viewport.pxPerSecond * run.tick_s;
  const from = viewport.from_s / run.tick_s;
  const to = viewport.to_s / run.tick_s;
  const y = row.y + 2;
  const height = row.height - 4;
  thin.startRow(y, height);
  let i = firstAbove(end, from, track.first, track.last);
  for (; i < track.last && begin[i] < to; ++i) {
    const x = left + (begin[i] - from) * scale;
    const width = (end[i] - begin[i]) * scale;
    if (width < THIN) {
      thin.add(x, width, inks[i]);
      continue;
    }
    const x0 = Math.max(x, left);
    const x1 = Math.min(x + width - (width > 4 ? 1 : 0), right);
    batches.add(inks[i], FULL, x0, y, x1 - x0, height);
    if (x1 - x0 >= LEAST_LABEL && inks[i] !== FAINT) {
      const colour = textOn(frame.colours[inks[i]]);
      const text = sliceName(run, i);
      frame.labels.add({ text, colour, x: x0, y: y + height / 2, width: x1 - x0 });
    }
  }
  thin.endRow();
}

// The slice at a pixel, or within two: of several one that is not faint, then the longest.
export function sliceAt(frame, row, x) {
  const { run, track } = row;
  const { begin, end } = run.slices;
  const { viewport } = frame;
  const inks = frame.sliceInks[run.index];
  const near = 2 / viewport.pxPerSecond / run.tick_s;
  const tick = viewport.timeAt(x) / run.tick_s;
  let best = -1;
  let bestWeight = -1;
  for (let i = firstAbove(end, tick - near, track.first, track.last); i < track.last; ++i) {
    if (begin[i] > tick + near) break;
    const isUnder = begin[i] <= tick && tick < end[i];
    const weight = (isUnder ? 1e20 : 0) + (inks[i] === FAINT ? 0 : 1e19) + (end[i] - begin[i]);
    if (weight > bestWeight) [best, bestWeight] = [i, weight];
  }
  return best;
}
