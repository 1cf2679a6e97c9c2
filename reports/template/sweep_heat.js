// The best of the objective at every pair of values of two axes, whatever the others are.

import { element } from './dom.js';
import { effectsOf } from './sweep_effects.js';
import { lightness } from './sweep_ink.js';
import { walkable } from './sweep_marks.js';
import { byObjective, cellText, valueOf, valuesOf } from './sweep_model.js';
import { colours, columnChoice, label, nothing, picture, section, svg } from './sweep_parts.js';

const CELL = { width: 92, height: 34 };
const EDGE = { left: 110, top: 46 };
const MOST_VALUES = 60; // of an axis
const MOST_LETTERS = { across: 13, down: 15 };

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// The best of every pair, and where it is.
function bestOfPairs(sweep, points, columns, rows, { across, down }) {
  const column = new Map(columns.map((value, i) => [value, i]));
  const row = new Map(rows.map((value, i) => [value, i]));
  const best = new Map();
  for (const point of [...points].sort(byObjective(sweep))) {
    const [i, j] = [column.get(valueOf(point, across)), row.get(valueOf(point, down))];
    if (i === undefined || j === undefined || best.has(i + j * columns.length)) continue;
    best.set(i + j * columns.length, { point, i, j });
  }
  return [...best].sort(([a], [b]) => a - b).map(([, one]) => one);
}

function cellMark(sweep, { point, i, j }, colour, { across, down }) {
  const value = valueOf(point, sweep.objective);
  const [x, y] = [EDGE.left + i * CELL.width, EDGE.top + j * CELL.height];
  const fill = colour(value);
  const node = svg('rect', {
    x,
    y,
    width: CELL.width - 2,
    height: CELL.height - 2,
    fill,
    class: 'cell',
    'data-point': point.number,
    'data-value': value,
  });
  const text = cellText(sweep.objective, value);
  const ink = lightness(fill) > 0.18 ? 'on-light' : 'on-dark';
  const isIn = (px, py) => px >= x && px < x + CELL.width && py >= y && py < y + CELL.height;
  const at = [across, down].map((axis) => `${axis.label} ${cellText(axis, valueOf(point, axis))}`);
  return {
    node,
    point,
    text: `${at.join(', ')}: best ${sweep.objective.label} ${text}, point ${point.number}`,
    distance: (px, py) => (isIn(px, py) ? 0 : Infinity),
    ink: label(x + CELL.width / 2, y + 21, text, { 'text-anchor': 'middle', class: ink }),
  };
}

const valueLabel = (x, y, anchor, column, value, most) =>
  label(x, y, cut(cellText(column, value), most), { 'text-anchor': anchor });

function frame(columns, rows, { across, down }) {
  return [
    label(EDGE.left, 14, `${cut(across.label, 40)} →`, { class: 'name' }),
    label(EDGE.left - 8, 34, `${cut(down.label, MOST_LETTERS.down - 2)} ↓`, { class: 'name', 'text-anchor': 'end' }),
    ...columns.map((value, i) =>
      valueLabel(EDGE.left + (i + 0.5) * CELL.width, 34, 'middle', across, value, MOST_LETTERS.across),
    ),
    ...rows.map((value, j) =>
      valueLabel(EDGE.left - 8, EDGE.top + j * CELL.height + 21, 'end', down, value, MOST_LETTERS.down),
    ),
  ];
}

function heat(sweep, points, chosen, choose) {
  const columns = valuesOf(points, chosen.across).slice(0, MOST_VALUES);
  const rows = valuesOf(points, chosen.down).slice(0, MOST_VALUES);
  const best = bestOfPairs(sweep, points, columns, rows, chosen);
  const colour = colours(sweep, best.map((one) => one.point));
  const marks = best.map((one) => cellMark(sweep, one, colour, chosen));
  const width = EDGE.left + columns.length * CELL.width;
  const height = EDGE.top + rows.length * CELL.height;
  const name = `best ${sweep.objective.label} by ${chosen.across.label} and ${chosen.down.label}`;
  const drawn = marks.flatMap((mark) => [mark.node, mark.ink]);
  return walkable(picture(width, height, name, ...frame(columns, rows, chosen), ...drawn), marks, choose);
}

export function heatView(sweep, choose) {
  if (sweep.axes.length < 2) {
    const text = 'A map takes two axes with several values each.';
    return { element: section('heat', 'Two axes', element('p', { class: 'note' }, text)), show: () => {} };
  }
  const body = element('div', {});
  const replayedOf = (points) => points.filter((point) => point.isReplayed);
  const [first, second] = effectsOf(sweep, replayedOf(sweep.points)).map((effect) => effect.axis);
  const chosen = { across: first, down: second };
  let last = [];
  const show = (points) => {
    last = points;
    const replayed = replayedOf(points);
    body.replaceChildren(...(replayed.length === 0 ? [nothing()] : heat(sweep, replayed, chosen, choose)));
  };
  const choice = (name) =>
    columnChoice(name, sweep.axes, chosen[name], (column) => {
      chosen[name] = column;
      show(last);
    });
  const bar = element('div', { class: 'toolbar' }, choice('across'), choice('down'));
  const note = element('p', { class: 'note' }, `The first ${MOST_VALUES} values of an axis.`);
  note.hidden = sweep.axes.every((axis) => valuesOf(sweep.points, axis).length <= MOST_VALUES);
  return { element: section('heat', `Two axes: the best ${sweep.objective.label}`, bar, note, body), show };
}
