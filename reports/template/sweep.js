// The page of a sweep: its points as a table, and four pictures of those that the filter leaves.

import { button, element } from './dom.js';
import { effectsView } from './sweep_effects.js';
import { FILTER_HELP, matching } from './sweep_filter.js';
import { heatView } from './sweep_heat.js';
import { readSweep } from './sweep_model.js';
import { parallelView } from './sweep_parallel.js';
import { pointDialog } from './sweep_point.js';
import { scatterView } from './sweep_scatter.js';
import { tableView } from './sweep_table.js';
import { countText, plural } from './text.js';
import { themeSwitch } from './theme.js';

const VIEWS = [effectsView, scatterView, heatView, parallelView, tableView];

function filterBar(onChange) {
  const input = element('input', {
    type: 'search',
    'data-control': 'filter',
    'aria-label': 'Filter points',
    'aria-describedby': 'filter-help',
    placeholder: 'tp=8 mfu>=0.4',
    onInput: () => onChange(),
  });
  const clear = button('All', () => {
    input.value = '';
    onChange();
  });
  const count = element('output', { 'data-probe': 'count', 'aria-live': 'polite' });
  const bar = element('div', { class: 'toolbar' }, input, clear, count, themeSwitch(onChange));
  const help = element('p', { class: 'note', id: 'filter-help' }, FILTER_HELP);
  return { elements: [bar, help], input, count };
}

// Once a frame, however often the window changes.
function onResize(act) {
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return;
    width = innerWidth;
    requestAnimationFrame(act);
  });
}

function openPage() {
  const sweep = readSweep(JSON.parse(document.getElementById('data').textContent));
  const dialog = pointDialog(sweep);
  const views = VIEWS.map((make) => make(sweep, dialog.show));
  const show = () => {
    const points = matching(sweep, bar.input.value);
    bar.count.textContent = `${countText(points.length)} of ${plural(sweep.points.length, 'point')}`;
    for (const view of views) view.show(points);
  };
  const bar = filterBar(show);
  const body = document.getElementById('static');
  body.querySelector('h1').after(...bar.elements);
  body.append(...views.map((view) => view.element), dialog.element);
  show();
  onResize(show);
  document.documentElement.dataset.ready = '1';
}

try {
  openPage();
} catch (error) {
  const text = `This page cannot show its sweep: ${error.message}.`;
  document.body.prepend(element('p', { class: 'problem', role: 'alert' }, text));
  document.documentElement.dataset.ready = 'failed';
}
