// The controls over the chart. Every one has a label and a name for tests (data-control).

import { button, element } from './dom.js';
import { sentence } from './describe.js';
import { hasCells } from './run_model.js';
import { themeSwitch } from './theme.js';
import { countText } from './text.js';
import { nextHit } from './walk.js';

const ALL = 'all';

function numbered(count, noun) {
  return Array.from({ length: count }, (_, i) => [String(i), `${noun} ${i}`]);
}

// A labelled list of [value, text].
function choose(name, label, options, onChange) {
  const list = element(
    'select',
    { 'data-control': name, onChange: (event) => onChange(event.target.value) },
    ...options.map(([value, text]) => element('option', { value }, text)),
  );
  return element('label', {}, `${label} `, list);
}

const numberOf = (value) => (value === ALL ? null : Number(value));

function largest(columns) {
  let most = 0;
  for (const column of columns) {
    for (let i = 0; i < column.length; ++i) if (column[i] > most) most = column[i];
  }
  return most;
}

export class Toolbar {
  constructor(app) {
    this.app = app;
    this.search = element('input', {
      type: 'search',
      placeholder: 'name of an op',
      'data-control': 'search',
      onInput: () => app.change({ search: this.search.value }),
      onKeydown: (event) => this.#searchKey(event),
    });
    this.hits = element('output', { 'data-control': 'hits', 'aria-live': 'polite' });
    this.element = element(
      'div',
      { class: 'toolbar', role: 'group', 'aria-label': 'timeline controls' },
      ...this.#views(),
      element('label', {}, 'Search ', this.search),
      this.hits,
      ...this.#filters(),
      choose('colour', 'Colour by', [['kind', 'kind'], ['microbatch', 'micro-batch']], (colourBy) =>
        app.change({ colourBy }),
      ),
      this.#switch('critical', 'Critical path'),
      ...this.#strips(),
      this.#zoomButtons(),
      themeSwitch(() => app.chart.readTheme()),
    );
  }

  show() {
    const { app } = this;
    const total = app.choice.view === 'pipeline' ? 'cells' : 'slices';
    this.hits.textContent = `${countText(app.hits)} ${total}`;
    for (const one of this.element.querySelectorAll('[data-view]')) {
      one.setAttribute('aria-pressed', String(one.dataset.view === app.choice.view));
    }
  }

  #views() {
    if (!this.app.runs.some(hasCells)) return [];
    const made = ['timeline', 'pipeline'].map((view) =>
      button(view, () => this.app.change({ view }), {
        'data-view': view,
        'data-control': `view-${view}`,
        'aria-pressed': 'false',
      }),
    );
    return [element('span', { class: 'group', role: 'group', 'aria-label': 'view' }, ...made)];
  }

  #filters() {
    const { app } = this;
    const stages = 1 + largest(app.runs.map((run) => run.slices.stage));
    const microbatches = largest(app.runs.map((run) => run.slices.microbatch));  // coded, 0: none
    const filters = [];
    if (stages > 1) {
      const options = [[ALL, 'all'], ...numbered(stages, 'stage')];
      const onChange = (value) => app.change({ stage: numberOf(value) });
      filters.push(choose('stage', 'Stage', options, onChange));
    }
    if (microbatches > 0) {
      const options = [[ALL, 'all'], ...numbered(microbatches, 'micro-batch')];
      const onChange = (value) => app.change({ microbatch: numberOf(value) });
      filters.push(choose('microbatch', 'Micro-batch', options, onChange));
    }
    return filters;
  }

  #switch(name, text, key = name) {
    const box = element('input', {
      type: 'checkbox',
      'data-control': name,
      onChange: () => this.app.change({ [key]: box.checked }),
    });
    box.checked = this.app.choice[key];
    return element('label', { class: 'switch' }, box, ` ${text}`);
  }

  #strips() {
    const strips = [];
    const { runs } = this.app;
    if (runs.some((run) => run.memory.length > 0)) {
      strips.push(this.#switch('memory', 'Memory', 'showsMemory'));
    }
    if (runs.some((run) => run.links.length > 0)) {
      strips.push(this.#switch('links', 'Links', 'showsLinks'));
    }
    return strips;
  }

  #zoomButtons() {
    const { viewport } = this.app.chart;
    return element(
      'span',
      { class: 'group', role: 'group', 'aria-label': 'zoom' },
      button('+', () => viewport.zoomBy(1.5), { 'aria-label': 'Zoom in', 'data-control': 'in' }),
      button('−', () => viewport.zoomBy(1 / 1.5), {
        'aria-label': 'Zoom out',
        'data-control': 'out',
      }),
      button('Fit', () => viewport.fit(), { 'data-control': 'fit' }),
    );
  }

  // Enter goes from hit to hit, Escape empties the search.
  #searchKey(event) {
    const { app } = this;
    if (event.key === 'Escape') {
      this.search.value = '';
      app.change({ search: '' });
      app.chart.surface.focus();
    }
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const step = event.shiftKey ? -1 : 1;
    const target = nextHit(app.chart, app.pointed.focused, step) ?? nextHit(app.chart, null, step);
    app.focus(target);
    app.say(target === null ? 'no hit' : sentence(target));
  }
}
