// The table of a compare page: each figure of every run, and how it differs from the first.

import { element } from './dom.js';
import { differenceText, figureElement, figuresOf } from './figures.js';

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
        element('td', { class: 'number change' }, differenceText(figure, run, first)),
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
