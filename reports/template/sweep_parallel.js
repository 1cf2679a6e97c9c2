// Parallel coordinates: one line for every point through its value on every axis, to the objective.

import { scaleLinear, scalePoint } from 'd3-scale';

import { element } from './dom.js';
import { walkable } from './sweep_marks.js';
import { byObjective, cellText, valueOf, valuesOf } from './sweep_model.js';
import { colours, label, nothing, picture, room, section, svg } from './sweep_parts.js';
import { countText, plural } from './text.js';

const STEP = { least: 96, most: 170 };
const HEIGHT = 360;
const EDGE = { left: 40, right: 90, top: 30, bottom: 14 };
const MOST_LINES = 1000;
const MOST_MARKS = 12; // of an axis
const MOST_LETTERS = 14;

const NOTE = 'A line is a point; the better, the more it stands out. Values of an axis are evenly spaced.';

// Values of an axis are evenly spaced, whatever they are; the objective is to scale.
function scaleOf(points, column, isAxis) {
  const range = [HEIGHT - EDGE.bottom, EDGE.top];
  const values = valuesOf(points, column);
  const ends = [...new Set([values[0], values[values.length - 1]])];
  if (!isAxis) return { at: scaleLinear([values[0], values[values.length - 1]], range), marks: ends };
  return { at: scalePoint(values, range), marks: values.length > MOST_MARKS ? ends : values };
}

// How far a place is from a line, straight up or down.
function distanceTo(heights, xs) {
  return (x, y) => {
    const right = xs.findIndex((at) => at >= x);
    if (right <= 0) return Infinity;
    const share = (x - xs[right - 1]) / (xs[right] - xs[right - 1]);
    return Math.abs(heights[right - 1] + share * (heights[right] - heights[right - 1]) - y);
  };
}

function lineMark(sweep, point, columns, scales, xs, colour) {
  const heights = columns.map((column, i) => scales[i].at(valueOf(point, column)));
  const values = columns.map((column) => `${column.label} ${cellText(column, valueOf(point, column))}`);
  return {
    node: svg('polyline', {
      points: heights.map((y, i) => `${xs[i]},${y}`).join(' '),
      stroke: colour(valueOf(point, sweep.objective)),
      class: 'path',
      'data-point': point.number,
    }),
    point,
    text: `point ${point.number}: ${values.join(', ')}`,
    distance: distanceTo(heights, xs),
  };
}

function axisMarks(column, x, scale) {
  const text = column.label.length > MOST_LETTERS ? `${column.label.slice(0, MOST_LETTERS - 1)}…` : column.label;
  return [
    svg('line', { x1: x, x2: x, y1: EDGE.top, y2: HEIGHT - EDGE.bottom, class: 'axis' }),
    label(x, 14, text, { 'text-anchor': 'middle', class: 'name' }),
    ...scale.marks.map((value) =>
      label(x + 5, scale.at(value) + 4, cellText(column, value), { class: 'haloed' }),
    ),
  ];
}

// `points`: the best first.
function parallel(sweep, points, choose) {
  const columns = [...sweep.axes, sweep.objective];
  const step = (room() - EDGE.left - EDGE.right) / Math.max(1, columns.length - 1);
  const xs = columns.map((_, i) => EDGE.left + i * Math.min(STEP.most, Math.max(STEP.least, step)));
  const scales = columns.map((column) => scaleOf(points, column, column !== sweep.objective));
  const colour = colours(sweep, points);
  const marks = points.map((p) => lineMark(sweep, p, columns, scales, xs, colour));
  const lines = marks.map((mark) => mark.node).reverse();  // the best is drawn last
  const axes = columns.flatMap((column, i) => axisMarks(column, xs[i], scales[i]));
  const name = `${plural(points.length, 'point')} over ${columns.map((column) => column.label).join(', ')}`;
  const image = picture(xs[xs.length - 1] + EDGE.right, HEIGHT, name, ...lines, ...axes);
  return walkable(image, marks, choose);
}

export function parallelView(sweep, choose) {
  const body = element('div', {});
  const note = element('p', { class: 'note' });
  const isWhole = (point) => point.isReplayed && sweep.axes.every((axis) => valueOf(point, axis) !== null);
  return {
    element: section('parallel', 'All axes', note, body),
    show(points) {
      const whole = points.filter(isWhole).sort(byObjective(sweep));
      const drawn = whole.slice(0, MOST_LINES);
      const isCut = whole.length > drawn.length;
      note.textContent = isCut
        ? `${NOTE} These are the best ${countText(drawn.length)} of ${countText(whole.length)}.`
        : NOTE;
      body.replaceChildren(...(drawn.length === 0 ? [nothing()] : parallel(sweep, drawn, choose)));
    },
  };
}
