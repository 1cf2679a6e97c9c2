// What is selected, under the chart, with what it waits for and what waits for it as buttons.

import { sourcesOf } from './arrows.js';
import { describe, sentence } from './describe.js';
import { button, element, termList } from './dom.js';
import { sliceName } from './run_model.js';
import { sliceTarget } from './targets.js';
import { plural, timeText } from './text.js';

const MOST_LISTED = 12;

export class Details {
  constructor(app) {
    this.app = app;
    this.summary = '';
    this.element = element('section', { class: 'details', 'aria-label': 'selected', hidden: true });
  }

  show(target) {
    this.element.hidden = target === null;
    this.summary = '';
    if (target === null) return;
    const { title, lines } = describe(target);
    this.element.replaceChildren(element('h2', {}, title), termList(lines));
    if (target.type === 'slice') this.#showNeighbours(target);
  }

  #showNeighbours({ run, index }) {
    const sources = sourcesOf(run, index);
    const sinks = run.dependencies.outOf(index);
    this.summary = `waits for ${sources.length}, ${sinks.length} wait for it`;
    this.element.append(
      this.#list('waits for', run, sources),
      this.#list('waited for by', run, sinks),
    );
  }

  #list(title, run, slices) {
    const items = slices.slice(0, MOST_LISTED).map((slice) => {
      const { label } = run.ranks[run.tracks[run.slices.track[slice]].rank];
      const at = timeText(run.slices.begin[slice] * run.tick_s);
      const text = `${sliceName(run, slice)}, ${label}, at ${at}`;
      return element('li', {}, button(text, () => this.#goTo(run, slice)));
    });
    const more = slices.length - items.length;
    if (more > 0) items.push(element('li', {}, `and ${plural(more, 'more slice')}`));
    if (items.length === 0) items.push(element('li', {}, 'nothing but its place in the stream'));
    return element('div', {}, element('h3', {}, title), element('ul', {}, ...items));
  }

  #goTo(run, slice) {
    const target = sliceTarget(this.app.chart.rows, run, slice);
    if (target === null) return;
    this.app.chart.surface.focus();
    this.app.select(target);
    this.app.focus(target);
    this.app.say(`selected ${sentence(target)}`);
  }
}
