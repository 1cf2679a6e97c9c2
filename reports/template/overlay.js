// What lies over the rows: outlines of what is hovered, focused and selected, the arrows of its
// dependencies, the way of a micro-batch through the cells, the time under the pointer.

import { AXIS_HEIGHT } from './axis.js';
import { boxOf } from './targets.js';
import { timeText } from './text.js';

const MOST_ARROWS = 60;

export function paintOverlay(frame, { hovered, focused, selected, arrows, pointerX }) {
  const { ctx, theme, viewport } = frame;
  if (pointerX !== null) paintPointer(frame, pointerX);
  ctx.save();
  ctx.beginPath();
  ctx.rect(viewport.left, AXIS_HEIGHT, viewport.right - viewport.left, frame.height - AXIS_HEIGHT);
  ctx.clip();
  ctx.translate(0, AXIS_HEIGHT - frame.scrollTop);
  for (const { from, to } of arrows.slice(0, MOST_ARROWS)) paintArrow(frame, from, to);
  if (hovered) outline(frame, hovered, theme.ink, 1.5);
  if (selected) outline(frame, selected, theme.ink, 2.5);
  if (focused) outline(frame, focused, theme.accent, 3);
  ctx.restore();
}

function outline({ ctx, theme, viewport }, target, colour, width) {
  if (target.type === 'memory' || target.type === 'link') return;
  const box = boxOf(target, viewport);
  const x0 = Math.max(box.x, viewport.left - 8);
  const x1 = Math.min(box.x + box.width, viewport.right + 8);
  if (x1 < viewport.left || x0 > viewport.right) return;
  const rectangle = [x0 - 1, box.y - 1, x1 - x0 + 1, box.height + 2];
  ctx.strokeStyle = theme.paper;
  ctx.lineWidth = width + 2;
  ctx.strokeRect(...rectangle);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.strokeRect(...rectangle);
}

// From the end of one to the start of another.
function paintArrow({ ctx, theme, viewport }, from, to) {
  const a = boxOf(from, viewport);
  const b = boxOf(to, viewport);
  const x0 = clamp(a.x + a.width, viewport);
  const x1 = clamp(b.x, viewport);
  const y0 = a.y + a.height / 2;
  const y1 = b.y + b.height / 2;
  const bend = Math.max(18, Math.min(80, Math.abs(x1 - x0) / 2));
  for (const [colour, width] of [
    [theme.paper, 4.5],
    [theme.danger, 1.8],
  ]) {
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    ctx.stroke();
  }
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 8, y1 - 4.5);
  ctx.lineTo(x1 - 8, y1 + 4.5);
  ctx.fill();
}

const clamp = (x, { left, right }) => Math.min(Math.max(x, left - 200), right + 200);

function paintPointer({ ctx, theme, viewport, height }, x) {
  if (x < viewport.left || x > viewport.right) return;
  ctx.fillStyle = theme.quiet;
  ctx.globalAlpha = 0.5;
  ctx.fillRect(Math.round(x), AXIS_HEIGHT, 1, height - AXIS_HEIGHT);
  ctx.globalAlpha = 1;
  const text = timeText(viewport.timeAt(x));
  const width = ctx.measureText(text).width + 10;
  const x0 = Math.min(Math.max(x - width / 2, viewport.left), viewport.right - width);
  ctx.fillStyle = theme.ink;
  ctx.fillRect(x0, 4, width, AXIS_HEIGHT - 8);
  ctx.fillStyle = theme.paper;
  ctx.fillText(text, x0 + 5, AXIS_HEIGHT / 2);
}
