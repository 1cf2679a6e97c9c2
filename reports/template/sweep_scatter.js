// Two columns against each other, and the points that no other beats in both.

import { scaleLinear } from 'd3-scale';

import { element } from './dom.js';
import { walkable } from './sweep_marks.js';
import { cellText, valueOf } from './sweep_model.js';
import { colours, columnChoice, label, nothing, picture, room, section, svg } from './sweep_parts.js';
import { countText, plural } from './text.js';

const HEIGHT = 380;
const EDGE = { left: 78, right: 36, top: 26, bottom: 44 };
const AIR = 0.04; // beside the outermost points, of what they span
const MANY = 1000; // points from which on they are small
const ROOM_OF_A_LABEL = { x: 95, y: 60 }; // px

// Nobody is better in x without being worse in y. From the best x to the best y.
export function paretoFront(points, x, y) {
  const worth = (point, column) => (column.more ? -1 : 1) * valueOf(point, column);
  const sorted = [...points].sort(
    (a, b) => worth(a, x) - worth(b, x) || worth(a, y) - worth(b, y) || a.number - b.number,
  );
  const front = [];
  for (const point of sorted) {
    const last = front[front.length - 1];
    if (!last || worth(point, y) < worth(last, y)) front.push(point);
  }
  return front;
}

// Round numbers of bytes are round in KiB, MiB, …
const unitOf = (column, most) =>
  /_bytes$/.test(column.key) && most >= 1 ? 1024 ** Math.floor(Math.log(most) / Math.log(1024)) : 1;

// {column, at, ticks}
function scaleOf(points, column, range, roomOfALabel) {
  const values = points.map((point) => valueOf(point, column));
  const count = Math.max(2, Math.floor(Math.abs(range[1] - range[0]) / roomOfALabel));
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const unit = unitOf(column, high);
  const air = (AIR * (high - low)) / unit;
  const scale = scaleLinear([low / unit - air, high / unit + air], range);
  return { column, at: (value) => scale(value / unit), ticks: scale.ticks(count).map((tick) => tick * unit) };
}

function frame(x, y, width) {
  const right = width - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  return [
    ...x.ticks.flatMap((tick) => [
      svg('line', { x1: x.at(tick), x2: x.at(tick), y1: EDGE.top, y2: bottom, class: 'grid' }),
      label(x.at(tick), bottom + 16, cellText(x.column, tick), { 'text-anchor': 'middle' }),
    ]),
    ...y.ticks.flatMap((tick) => [
      svg('line', { x1: EDGE.left, x2: right, y1: y.at(tick), y2: y.at(tick), class: 'grid' }),
      label(EDGE.left - 6, y.at(tick) + 4, cellText(y.column, tick), { 'text-anchor': 'end' }),
    ]),
    label((EDGE.left + right) / 2, HEIGHT - 8, x.column.label, { 'text-anchor': 'middle', class: 'name' }),
    label(4, 14, y.column.label, { class: 'name' }),
  ];
}

function dotMark(point, x, y, { radius, isFront, fill }) {
  const [cx, cy] = [x.at(valueOf(point, x.column)), y.at(valueOf(point, y.column))];
  const texts = [x, y].map(({ column }) => `${column.label} ${cellText(column, valueOf(point, column))}`);
  return {
    node: svg('circle', {
      cx,
      cy,
      r: radius,
      fill,
      class: isFront ? 'dot front' : 'dot',
      'data-point': point.number,
    }),
    point,
    text: `point ${point.number}: ${texts.join(', ')}${isFront ? ', on the front' : ''}`,
    distance: (px, py) => Math.hypot(px - cx, py - cy),
  };
}

function scatter(sweep, points, chosen, choose) {
  const width = room();
  const x = scaleOf(points, chosen.x, [EDGE.left, width - EDGE.right], ROOM_OF_A_LABEL.x);
  const y = scaleOf(points, chosen.y, [HEIGHT - EDGE.bottom, EDGE.top], ROOM_OF_A_LABEL.y);
  const front = paretoFront(points, chosen.x, chosen.y);
  const isFront = new Set(front);
  const colour = colours(sweep, points);
  const place = (point) => [x.at(valueOf(point, chosen.x)), y.at(valueOf(point, chosen.y))];
  const looks = (point) => ({
    isFront: isFront.has(point),
    radius: isFront.has(point) ? 6 : points.length > MANY ? 2.5 : 4,
    fill: colour(valueOf(point, sweep.objective)),
  });
  const marks = points
    .map((point) => dotMark(point, x, y, looks(point)))
    .sort((a, b) => place(a.point)[0] - place(b.point)[0] || place(b.point)[1] - place(a.point)[1]);
  const line = svg('polyline', { points: front.map((p) => place(p).join(',')).join(' '), class: 'front' });
  const name =
    `${chosen.y.label} over ${chosen.x.label}: ${plural(points.length, 'point')}, ` +
    `${countText(front.length)} on the Pareto front`;
  const dotsOf = (onFront) => marks.filter((m) => isFront.has(m.point) === onFront).map((m) => m.node);
  const drawn = [...frame(x, y, width), ...dotsOf(false), line, ...dotsOf(true)];
  return [
    element('p', { class: 'note' }, `${name}. Framed: no other point is better in both.`),
    ...walkable(picture(width, HEIGHT, name, ...drawn), marks, choose),
  ];
}

function firstChoice(sweep, columns) {
  const wanted = ['chips', 'peak_memory_bytes'].map((key) => columns.find((c) => c.key === key));
  const other = columns.find((column) => column !== sweep.objective);
  return { x: wanted.find(Boolean) ?? other ?? sweep.objective, y: sweep.objective };
}

export function scatterView(sweep, choose) {
  const isChoice = (c) => c.isNumber && c.isVaried && c.key !== 'point';
  const columns = sweep.columns.filter((c) => isChoice(c) || c === sweep.objective);
  const chosen = firstChoice(sweep, columns);
  let last = [];
  const body = element('div', {});
  const isDrawn = (p) => p.isReplayed && valueOf(p, chosen.x) !== null && valueOf(p, chosen.y) !== null;
  const show = (points) => {
    last = points;
    const drawn = points.filter(isDrawn);
    body.replaceChildren(...(drawn.length === 0 ? [nothing()] : scatter(sweep, drawn, chosen, choose)));
  };
  const choice = (name) =>
    columnChoice(name, columns, chosen[name], (column) => {
      chosen[name] = column;
      show(last);
    });
  const bar = element('div', { class: 'toolbar' }, choice('y'), choice('x'));
  return { element: section('scatter', 'Trade-offs', bar, body), show };
}
