// Step functions as pixel columns: of all points that fall on one column the highest counts.

import { firstAbove } from './run_model.js';

// Calls see(x0, x1, point) for every stretch in view that has one point to show; `height(point)`
// says how high it is. `at`: ticks, not decreasing; the last point holds until `end` (ticks).
export function walkSteps(at, end, tick_s, viewport, height, see) {
  const { from, to: right, scale } = viewport.inTicks(tick_s);
  const to = Math.min(right, end);
  const pixel = (tick) => Math.round(viewport.left + (Math.max(tick, from) - from) * scale);
  let shown = Math.max(0, firstAbove(at, from, 0, at.length) - 1);
  let x0 = at.length > 0 ? pixel(at[shown]) : 0;
  for (let i = shown + 1; i <= at.length; ++i) {
    const tick = i < at.length && at[i] < to ? at[i] : to;
    const x1 = pixel(tick);
    if (x1 > x0) {
      see(x0, x1, shown);
      x0 = x1;
      shown = i;
    } else if (i < at.length && height(i) > height(shown)) {
      shown = i;
    }
    if (tick === to) return;
  }
}

// The point that holds at `tick`, -1 before the first.
export const stepAt = (at, tick) => firstAbove(at, tick, 0, at.length) - 1;
