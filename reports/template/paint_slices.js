// A track: slices of one stream of a device, over the gaps in which its rank idles.

import { FAINT } from './inks.js';
import { paintGaps } from './paint_gaps.js';
import { firstAbove, sliceName } from './run_model.js';

const LEAST_LABEL = 26;  // px

export function paintSlices(frame, row) {
  if (row.showsGaps) paintGaps(frame, row);
  const { run, track } = row;
  const { begin, end } = run.slices;
  const { strips, viewport } = frame;
  const inks = frame.sliceInks[run.index];
  const { from, to, scale } = viewport.inTicks(run.tick_s);
  strips.startRow(row.y + 2, row.height - 4);
  let i = firstAbove(end, from, track.first, track.last);
  for (; i < track.last && begin[i] < to; ++i) {
    const x0 = (begin[i] - from) * scale;
    const x1 = (end[i] - from) * scale;
    strips.add(x0, x1, inks[i]);
    if (x1 - x0 >= LEAST_LABEL && inks[i] !== FAINT) {
      frame.labelInside(row, x0, x1, { text: sliceName(run, i), ink: inks[i] });
    }
  }
  strips.endRow();
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
