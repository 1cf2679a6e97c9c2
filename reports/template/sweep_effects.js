// Main effects: how much of what the objective varies by goes with each axis alone (eta squared, the
// sum of squares between its values over all of it), and the mean at each of its values.

import { scaleLinear, scalePoint } from 'd3-scale';

import { element } from './dom.js';
import { cellText, valueOf, valuesOf } from './sweep_model.js';
import { nothing, picture, section, svg } from './sweep_parts.js';
import { countText, shareText } from './text.js';

const MOST_MEANS = 12; // listed of an axis
const PLOT = { width: 150, height: 44, edge: 5 };

const NOTE =
  'Share of the variance of the objective that goes with the axis alone. Points are as they are: where ' +
  'conditions or the search left some out, axes go together, and their shares overlap.';

const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

export function effectOf(points, axis, objective) {
  const scores = new Map(valuesOf(points, axis).map((value) => [value, []]));
  for (const point of points) scores.get(valueOf(point, axis))?.push(valueOf(point, objective));
  const all = mean(points.map((point) => valueOf(point, objective)));
  const groups = [...scores].map(([value, list]) => ({ value, mean: mean(list), count: list.length }));
  const between = groups.reduce((sum, group) => sum + group.count * (group.mean - all) ** 2, 0);
  const total = points.reduce((sum, point) => sum + (valueOf(point, objective) - all) ** 2, 0);
  return { axis, groups, share: total === 0 ? 0 : between / total };
}

// Of all axes, most first.
export const effectsOf = (sweep, points) =>
  sweep.axes.map((axis) => effectOf(points, axis, sweep.objective)).sort((a, b) => b.share - a.share);

// Means by value on one scale for all axes: steep is much.
function plot(groups, ends) {
  const { width, height, edge } = PLOT;
  const x = scalePoint(groups.map((group) => group.value), [edge, width - edge]);
  const y = scaleLinear(ends, [height - edge, edge]);
  const places = groups.map((group) => [x(group.value), y(group.mean)]);
  return picture(
    width,
    height,
    'means, in the order of the values',
    svg('polyline', { points: places.map((p) => p.join(',')).join(' '), class: 'mean' }),
    ...places.map(([cx, cy]) => svg('circle', { cx, cy, r: 2.5, class: 'mean' })),
  );
}

function effectRow(sweep, { axis, groups, share }, ends) {
  const means = groups
    .slice(0, MOST_MEANS)
    .map((group) => `${cellText(axis, group.value)}: ${cellText(sweep.objective, group.mean)}`);
  if (groups.length > MOST_MEANS) means.push(`… ${countText(groups.length)} values`);
  return element(
    'tr',
    { 'data-axis': axis.key },
    element('th', { scope: 'row' }, axis.label),
    element('td', { class: 'number', 'data-value': String(share) }, shareText(share)),
    element('td', {}, element('meter', { min: 0, max: 1, value: share, 'aria-label': axis.label })),
    element('td', {}, plot(groups, ends)),
    element('td', { class: 'means' }, means.join(', ')),
  );
}

function effectTable(sweep, points) {
  const effects = effectsOf(sweep, points);
  const means = effects.flatMap((effect) => effect.groups.map((group) => group.mean)).sort((a, b) => a - b);
  const ends = [means[0], means[means.length - 1]];
  const head = ['axis', 'share', '', `mean ${sweep.objective.label}`, 'by value'];
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...effects.map((effect) => effectRow(sweep, effect, ends))),
  );
}

export function effectsView(sweep) {
  const body = element('div', { class: 'scroll' });
  return {
    element: section('effects', 'Which axis matters', element('p', { class: 'note' }, NOTE), body),
    show(points) {
      const replayed = points.filter((point) => point.isReplayed);
      if (replayed.length === 0) return body.replaceChildren(nothing());
      const from = `From the ${replayed.length} of ${points.length} points that were replayed.`;
      return body.replaceChildren(element('p', { class: 'note' }, from), effectTable(sweep, replayed));
    },
  };
}
