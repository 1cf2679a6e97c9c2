// The memory of a rank over time, stacked by kind, with the limit of its devices.

import { memoryColour } from './palette.js';
import { walkSteps } from './step_columns.js';
import { bytesText } from './text.js';

// A limit far above the peak would flatten the strip: then it is only named.
const MOST_ROOM_ABOVE_PEAK = 2.5;

export const bytesAt = (memory, point) =>
  memory.bytes.reduce((sum, column) => sum + column[point], 0);

// Adds what every frame needs; once per run.
export function measureMemory(memory) {
  const totals = Float64Array.from(memory.at, (_, point) => bytesAt(memory, point));
  const peak = totals.reduce((most, bytes) => Math.max(most, bytes), 0);
  const limit = memory.limit_bytes;
  const showsLimit = limit !== null && limit <= peak * MOST_ROOM_ABOVE_PEAK;
  const top = Math.max(peak, showsLimit ? limit : 0, 1) * 1.08;
  return { ...memory, totals, peak, top, showsLimit };
}

export function paintMemory(frame, row) {
  const { ctx, theme, viewport } = frame;
  const { run, memory } = row;
  const floor = row.y + row.height - 2;
  const perByte = (row.height - 5) / memory.top;
  const colours = memory.kinds.map(memoryColour);
  ctx.fillStyle = theme.band;
  ctx.fillRect(viewport.left, row.y + 2, viewport.right - viewport.left, row.height - 4);
  const endTick = run.step_s / run.tick_s;
  const total = (point) => memory.totals[point];
  walkSteps(memory.at, endTick, run.tick_s, viewport, total, (x0, x1, point) => {
    let y = floor;
    memory.bytes.forEach((column, kind) => {
      const height = column[point] * perByte;
      if (height <= 0) return;
      ctx.fillStyle = colours[kind];
      ctx.fillRect(x0, y - height, x1 - x0, height);
      y -= height;
    });
  });
  if (memory.showsLimit) paintLimit(frame, floor - memory.limit_bytes * perByte);
}

// "67.9 of 74.5 GiB"
export function peakText({ peak, limit_bytes }) {
  const text = bytesText(peak);
  if (limit_bytes === null) return text;
  const [number, unit] = text.split(' ');
  const limit = bytesText(limit_bytes);
  return limit.endsWith(` ${unit}`) ? `${number} of ${limit}` : `${text} of ${limit}`;
}

function paintLimit({ ctx, theme, viewport }, y) {
  ctx.strokeStyle = theme.danger;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(viewport.left, Math.round(y) + 0.5);
  ctx.lineTo(viewport.right, Math.round(y) + 0.5);
  ctx.stroke();
  ctx.setLineDash([]);
}
