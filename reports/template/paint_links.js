// How much of a link's bandwidth is used over time.

import { walkSteps } from './step_columns.js';

const FULL_RATE = 1000;  // permille

export function paintLink({ ctx, theme, viewport }, row) {
  const { run, link } = row;
  const floor = row.y + row.height - 2;
  const high = row.height - 4;
  ctx.fillStyle = theme.band;
  ctx.fillRect(viewport.left, row.y + 2, viewport.right - viewport.left, high);
  ctx.fillStyle = theme.accent;
  const endTick = run.step_s / run.tick_s;
  const rate = (point) => link.rate[point];
  walkSteps(link.at, endTick, run.tick_s, viewport, rate, (x0, x1, point) => {
    const height = (Math.min(link.rate[point], FULL_RATE) / FULL_RATE) * high;
    if (height > 0) ctx.fillRect(x0, floor - height, x1 - x0, height);
  });
}

export const shareOfLink = (link, point) => link.rate[point] / FULL_RATE;
