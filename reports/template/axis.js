// The time axis: round times, and a unit that suits the stretch that is shown.

import { scaleLinear } from 'd3-scale';

export const AXIS_HEIGHT = 26;
const ROOM_OF_A_LABEL = 110;

const UNITS = [
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'us'],
  [1e-9, 'ns'],
];

// [{ time_s, text }] in [from_s, to_s].
export function axisTicks(from_s, to_s, room) {
  const times = scaleLinear()
    .domain([from_s, to_s])
    .ticks(Math.max(2, Math.floor(room / ROOM_OF_A_LABEL)));
  const step = times.length > 1 ? times[1] - times[0] : to_s - from_s;
  const [unit, name] = UNITS.find(([size]) => to_s >= size) ?? UNITS[UNITS.length - 1];
  const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-6)));
  return times.map((time_s) => ({ time_s, text: `${(time_s / unit).toFixed(decimals)} ${name}` }));
}

// Lines through all rows, which lie below.
export function paintGrid({ ctx, theme, viewport, height }, ticks) {
  ctx.fillStyle = theme.line;
  for (const { time_s } of ticks) {
    ctx.fillRect(Math.round(viewport.xOf(time_s)), AXIS_HEIGHT, 1, height - AXIS_HEIGHT);
  }
}

export function paintAxis({ ctx, theme, viewport }, ticks) {
  ctx.fillStyle = theme.paper;
  ctx.fillRect(0, 0, viewport.right, AXIS_HEIGHT);
  ctx.fillStyle = theme.line;
  ctx.fillRect(0, AXIS_HEIGHT - 1, viewport.right, 1);
  ctx.fillStyle = theme.quiet;
  for (const { time_s, text } of ticks) {
    const x = viewport.xOf(time_s);
    const room = ctx.measureText(text).width / 2;
    const middle = Math.min(Math.max(x, viewport.left + room), viewport.right - room - 2);
    ctx.fillText(text, middle - room, AXIS_HEIGHT / 2);
  }
}
