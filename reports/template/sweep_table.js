// All points that the filter leaves, sorted by a column; a number opens its point.

import { button, element } from './dom.js';
import { cellText, valueOf } from './sweep_model.js';
import { section } from './sweep_parts.js';
import { plural } from './text.js';

const MOST_ROWS = 500; // shown at once
const FIGURES = [
  'step_time_s',
  'tokens_per_s_per_chip',
  'cost_per_token',
  'compute_s',
  'exposed_comm_s',
  'bubble_s',
  'mfu',
  'peak_memory_bytes',
  'fits_memory',
  'chips',
];
const MOST_LETTERS = 90; // of a reason; the point has all of it

// Nothing comes last, either way.
function compare(a, b, column, sign) {
  const [x, y] = [valueOf(a, column), valueOf(b, column)];
  if (x === null || y === null) return (x === null) - (y === null);
  const order = column.isNumber ? x - y : String(x).localeCompare(String(y), 'en');
  return sign * order || a.number - b.number;
}

function row(columns, point, choose) {
  const cells = columns.map((column) => {
    const whole = cellText(column, valueOf(point, column));
    const text = whole.length > MOST_LETTERS ? `${whole.slice(0, MOST_LETTERS - 1)}…` : whole;
    const attributes = { class: column.isNumber ? 'number' : 'text' };
    return element('td', attributes, column.key === 'point' ? button(text, () => choose(point)) : text);
  });
  return element('tr', { 'data-point': point.number }, ...cells);
}

export function tableView(sweep, choose) {
  const shown = new Set(FIGURES);
  const isKnown = (column) => sweep.points.some((point) => valueOf(point, column) !== null);
  const columns = sweep.columns.filter(
    (c) =>
      ['point', 'status'].includes(c.key) || (c.isAxis && c.isVaried) || (shown.has(c.key) && isKnown(c)),
  );
  if (isKnown(sweep.at('reason'))) columns.push(sweep.at('reason'));
  // The best first.
  let sorted = { column: sweep.objective, sign: sweep.objective.more ? -1 : 1 };
  let last = [];
  const note = element('p', { class: 'note' });
  const body = element('div', { class: 'scroll' });
  const heading = (column) => {
    const isSorted = column === sorted.column;
    const direction = sorted.sign > 0 ? 'ascending' : 'descending';
    const sort = () => {
      sorted = { column, sign: isSorted ? -sorted.sign : column.more ? -1 : 1 };
      show(last);
      body.querySelector(`[data-sort='${column.key}']`).focus();
    };
    return element(
      'th',
      { scope: 'col', 'aria-sort': isSorted ? direction : 'none' },
      button(`${column.label}${isSorted ? (sorted.sign > 0 ? ' ▲' : ' ▼') : ''}`, sort, {
        'data-sort': column.key,
      }),
    );
  };
  function show(points) {
    last = points;
    const rows = [...points].sort((a, b) => compare(a, b, sorted.column, sorted.sign));
    note.textContent =
      rows.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${plural(rows.length, 'point')}.` : '';
    body.replaceChildren(
      element(
        'table',
        {},
        element('thead', {}, element('tr', {}, ...columns.map(heading))),
        element('tbody', {}, ...rows.slice(0, MOST_ROWS).map((point) => row(columns, point, choose))),
      ),
    );
  }
  return { element: section('table', 'Points', note, body), show };
}
