// Gaps in which a rank idles, each with the cause where it fits.

import { firstAbove } from './run_model.js';

const LEAST_WIDTH = 3;

// From whole to short: "warm-up: waits for F0 of stage 2", "waits for F0 of stage 2", "F0 of stage 2",
// "F0". The hover card has the whole.
const forms = (text) => {
  const cause = text.replace(/^warm-up: /, '');
  const short = cause.replace(/^waits for /, '');
  const work = /^\S+(?= of stage )/.exec(short);
  return [text, cause, short, ...(work ?? [])];
};

export function paintGaps(frame, row) {
  const { run, rank } = row;
  const { begin, end, text, firstOfRank } = run.bubbles;
  const { ctx, theme, viewport } = frame;
  const { from, to, scale } = viewport.inTicks(run.tick_s);
  ctx.fillStyle = theme.gap;
  const last = firstOfRank[rank + 1];
  for (let i = firstAbove(end, from, firstOfRank[rank], last); i < last && begin[i] < to; ++i) {
    const x0 = Math.max(viewport.left, viewport.left + (begin[i] - from) * scale);
    const x1 = Math.min(viewport.right, viewport.left + (end[i] - from) * scale);
    if (x1 - x0 < LEAST_WIDTH) continue;
    ctx.fillRect(x0, row.y + 2, x1 - x0, row.height - 4);
    const label = forms(run.texts[text[i]]).find((one) => frame.labels.fits(one, x1 - x0));
    if (label !== undefined) {
      const place = { x: x0, y: row.y + row.height / 2, width: x1 - x0 };
      frame.labels.add({ text: label, colour: theme.quiet, isCentred: true, ...place });
    }
  }
}

export function gapAt({ viewport }, { run, rank }, x) {
  const { begin, end, firstOfRank } = run.bubbles;
  const tick = viewport.timeAt(x) / run.tick_s;
  const last = firstOfRank[rank + 1];
  const i = firstAbove(end, tick, firstOfRank[rank], last);
  return i < last && begin[i] <= tick ? i : -1;
}
