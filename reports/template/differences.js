// The table of a compare page: each figure of every run, and how it differs from the first.

import { element } from './dom.js';
import { figureElement, figuresOf } from './figures.js';

export function differenceText(value, first) {
  if (typeof value !== 'number' || typeof first !== 'number') return '–';
  if (value === first) return 'same';
  if (first === 0) return 'from 0';
  const change = ((value - first) / Math.abs(first)) * 100;
  return `${change > 0 ? '+' : '−'}${Math.abs(change).toFixed(1)} %`;
}

function differenceCell(key, run, first) {
  const text = differenceText(run.summary[key], first.summary[key]);
  return element('td', { class: 'number', 'data-difference': key }, text);
}

export function differenceTable(runs) {
  const [first, ...others] = runs;
  const heads = others.flatMap((run) => [
    element('th', { scope: 'col' }, run.name),
    element('th', { scope: 'col', class: 'change' }, 'to the first'),
  ]);
  const rows = figuresOf(runs).map((figure) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, figure.label),
      figureElement('td', figure, first),
      ...others.flatMap((run) => [
        figureElement('td', figure, run),
        differenceCell(figure.key, run, first),
      ]),
    ),
  );
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'differences' },
    element(
      'table',
      { class: 'differences' },
      element('caption', {}, `differences to ${first.name}`),
      element(
        'thead',
        {},
        element('tr', {}, element('td'), element('th', { scope: 'col' }, first.name), ...heads),
      ),
      element('tbody', {}, ...rows),
    ),
  );
}
