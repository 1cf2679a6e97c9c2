// The interactive part of a page: one chart of one or several runs with its controls. Everything
// that can be chosen is in `choice`; everything pointed at in `pointed`.

import { arrowsOf } from './arrows.js';
import { Chart } from './chart.js';
import { Details } from './details.js';
import { element } from './dom.js';
import { HoverCard } from './hover_card.js';
import { Inks, inkCells, inkSlices } from './inks.js';
import { listenToKeys } from './keyboard.js';
import { makeLegend } from './legend.js';
import { paintOverlay } from './overlay.js';
import { listenToPointer } from './pointer.js';
import { makeRows } from './rows.js';
import { hasCells } from './run_model.js';
import { boxOf, timesOf } from './targets.js';
import { Toolbar } from './toolbar.js';

const KEYS_HELP =
  'Wheel or pinch zooms, a drag pans, a click selects. Keys in the chart: arrows pan and scroll, ' +
  'plus and minus zoom, 0 or f fits all, / searches. Enter starts at the first slice in view, ' +
  'then Tab and Shift+Tab walk, Enter selects, Escape leaves. A bubble has its cause ' +
  'written in it; where that does not fit, point at it.';
const LEAST_FOCUS_WIDTH = 24;  // px; narrower ones are zoomed to

export class App {
  constructor(runs, view) {
    this.runs = runs;
    this.choice = {
      view,
      colourBy: 'kind',
      search: '',
      hiddenKinds: new Set(),
      stage: null,
      microbatch: null,
      critical: false,
      showsMemory: runs.length === 1,
      showsLinks: runs.length === 1,
    };
    this.pointed = { hovered: null, focused: null, selected: null, arrows: [], pointerX: null };
    this.inks = new Inks(runs);
    this.live = element('p', { class: 'live', 'aria-live': 'polite', role: 'status' });
    this.card = new HoverCard();
    this.chart = new Chart({
      span_s: Math.max(...runs.map((run) => run.step_s), 1e-12),
      label: `timeline of ${runs.map((run) => run.name).join(', ')}`,
      paintOverlay: (frame) => paintOverlay(frame, this.pointed),
      onMove: () => this.card.hide(),
    });
    this.chart.colours = this.inks.colours;
    this.details = new Details(this);
    this.toolbar = new Toolbar(this);
    this.legend = element('div', { class: 'legend', role: 'group', 'aria-label': 'legend' });
    this.element = element(
      'section',
      { class: 'views', 'aria-label': 'interactive timeline' },
      this.toolbar.element,
      this.legend,
      this.chart.scroller,
      element('p', { id: 'keys', class: 'keys' }, KEYS_HELP),
      this.details.element,
      this.live,
      this.card.element,
    );
    listenToPointer(this);
    listenToKeys(this);
    this.change({});
  }

  // Takes over parts of the choice and shows what follows from them.
  change(part) {
    Object.assign(this.choice, part);
    this.chart.setRows(makeRows(this.runs, this.choice));
    const slices = this.runs.map((run) => inkSlices(run, this.choice, this.inks));
    const cells = this.runs.map((run) => inkCells(run, this.choice, this.inks));
    this.chart.sliceInks = slices.map((one) => one.inks);
    this.chart.cellInks = cells.map((one) => one.inks);
    const counts = this.choice.view === 'pipeline' && this.runs.some(hasCells) ? cells : slices;
    this.hits = counts.reduce((sum, one) => sum + one.hits, 0);
    if ('view' in part || 'showsMemory' in part || 'showsLinks' in part) this.pointAtNothing();
    this.legend.replaceChildren(...makeLegend(this));
    this.toolbar.show();
    this.chart.refresh();
  }

  pointAtNothing() {
    this.card.hide();
    this.focus(null);
    this.select(null);
    this.hover(null);
  }

  hover(target, place = null) {
    const { pointed } = this;
    pointed.pointerX = place?.x ?? null;
    pointed.hovered = target;
    if (target === null) {
      this.card.hide();
    } else {
      this.card.show(target, place);
    }
    this.chart.refreshOverlay();
  }

  select(target) {
    this.pointed.selected = target;
    this.pointed.arrows = arrowsOf(target, this.chart.rows);
    this.details.show(target);
    this.chart.refreshOverlay();
  }

  focus(target) {
    this.pointed.focused = target;
    if (target !== null) {
      this.reveal(target);
      const { x, width, y, height } = boxOf(target, this.chart.viewport);
      const top = y + height - this.chart.scrollTop + 26;
      this.card.show(target, { x: x + Math.min(width, 40), y: top });
    }
    this.chart.refreshOverlay();
  }

  // Brings a target into view; one that is too narrow to see is zoomed to.
  reveal(target) {
    const { viewport } = this.chart;
    const [begin, end] = timesOf(target);
    this.chart.reveal(target.row);
    const width = (end - begin) * viewport.pxPerSecond;
    const middle = (begin + end) / 2;
    const isSeen = begin >= viewport.from_s && end <= viewport.to_s;
    if (width < LEAST_FOCUS_WIDTH && end > begin) {
      const half = ((end - begin) * (viewport.right - viewport.left)) / 120 / 2;
      viewport.show(middle - half, middle + half);
    } else if (!isSeen) {
      const half = Math.max((viewport.to_s - viewport.from_s) / 2, (end - begin) * 0.6);
      viewport.show(middle - half, middle + half);
    }
  }

  zoomTo(target) {
    const [begin, end] = timesOf(target);
    const margin = (end - begin) * 2 || this.chart.viewport.span_s / 1000;
    this.chart.viewport.show(begin - margin, end + margin);
  }

  // The live region: what a reader of the screen hears.
  say(text) {
    this.live.textContent = text;
  }
}
