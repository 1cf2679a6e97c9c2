// What the pictures of a sweep share: sections, choices of a column, SVG, colours.

import { scaleSequential } from 'd3-scale';
import { interpolateViridis } from 'd3-scale-chromatic';

import { element } from './dom.js';
import { valueOf } from './sweep_model.js';
import { currentTheme } from './theme.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDEST = 900; // px of a picture that has a choice

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const picture = (width, height, label, ...children) =>
  svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label }, ...children);

export const label = (x, y, text, more = {}) => svg('text', { x, y, ...more }, text);

// What is there for a picture in this window.
export const room = () => Math.min(WIDEST, document.getElementById('static').clientWidth - 2);

export function section(name, title, ...children) {
  return element('section', { class: 'sweep', 'data-view': name }, element('h2', {}, title), ...children);
}

// A choice of one of these columns.
export function columnChoice(name, columns, chosen, onChange) {
  const select = element(
    'select',
    { 'data-control': name, onChange: () => onChange(columns[select.selectedIndex]) },
    ...columns.map((column) => element('option', { selected: column === chosen }, column.label)),
  );
  return element('label', {}, `${name} `, select);
}

export const nothing = () =>
  element('p', { class: 'note' }, 'The filter leaves no point that was replayed and meets the constraints.');

// The part of viridis that has a contrast of 3 on the paper of a theme, from the best to the worst:
// the better a point, the more it stands out.
const PARTS = { light: [0, 0.58], dark: [1, 0.36] };

export function colours(sweep, points) {
  const values = points.map((point) => valueOf(point, sweep.objective)).sort((a, b) => a - b);
  const ends = [values[0], values[values.length - 1]];
  const part = PARTS[currentTheme()];
  if (ends[0] === ends[1]) return () => interpolateViridis(part[0]);
  if (sweep.objective.more) ends.reverse();
  return scaleSequential(ends, (share) => interpolateViridis(part[0] + share * (part[1] - part[0])));
}
