// The canvas: rows under a time axis, painted when something changed, at most once a frame.
//
// Two canvases lie on each other: rows below, and above what follows the pointer, so that moving it
// does not paint the rows again. They stay in place while the box around them scrolls.

import { AXIS_HEIGHT, axisTicks, paintAxis, paintGrid } from './axis.js';
import { element } from './dom.js';
import { paintFrames } from './paint_cells.js';
import { FONT, Labels } from './labels.js';
import { textOn } from './palette.js';
import { PAINTERS, paintGutter } from './row_types.js';
import { Strips } from './strips.js';
import { themeColours } from './theme.js';
import { Viewport } from './viewport.js';

const LEAST_HEIGHT = 160;
const BORDER = 1;  // of the scroller, style.css

export class Chart {
  #isScheduled = false;
  #isStale = true;
  #labels = new Labels();
  #strips = new Strips();

  // `paintOverlay(frame)` paints what lies above the rows.
  constructor({ span_s, label, paintOverlay, onMove }) {
    this.paintOverlay = paintOverlay;
    this.rows = [];
    this.sliceInks = [];
    this.cellInks = [];
    this.colours = [];
    this.framesPainted = 0;
    this.rowsCanvas = element('canvas', { 'aria-hidden': 'true' });
    this.overCanvas = element('canvas', { 'aria-hidden': 'true' });
    this.surface = element(
      'div',
      {
        class: 'surface',
        tabindex: '0',
        role: 'application',
        'aria-label': label,
        'aria-describedby': 'keys',
      },
      this.rowsCanvas,
      this.overCanvas,
    );
    this.spacer = element('div');
    const scrolls = { class: 'scroller', tabindex: '-1' };
    this.scroller = element('div', scrolls, this.surface, this.spacer);
    this.viewport = new Viewport(this.surface, span_s, (source) => {
      if (source?.type === 'mousemove') this.scroller.scrollTop -= source.movementY;
      onMove();
      this.refresh();
    });
    this.scroller.addEventListener('scroll', () => {
      onMove();
      this.refresh();
    });
    new ResizeObserver(() => this.layOut()).observe(this.scroller);
    addEventListener('resize', () => this.layOut());
    this.readTheme();
  }

  readTheme() {
    this.theme = themeColours();
    this.refresh();
  }

  setRows({ rows, height }) {
    this.rows = rows;
    this.contentHeight = height + AXIS_HEIGHT;
    this.layOut();
  }

  layOut() {
    const most = Math.max(LEAST_HEIGHT, Math.round(innerHeight * 0.72));
    const height = Math.min(this.contentHeight, most);
    this.scroller.style.height = `${height + 2 * BORDER}px`;
    this.surface.style.height = `${height}px`;
    this.spacer.style.height = `${this.contentHeight - height}px`;
    this.width = this.scroller.clientWidth;
    this.height = height;
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.rowsCanvas, this.overCanvas]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
    }
    this.gutter = this.width < 600 ? 88 : 168;
    this.viewport.resize(this.gutter, this.width);
    this.refresh();
  }

  get scrollTop() {
    return this.scroller.scrollTop;
  }

  // Row at a height of the surface.
  rowAt(surfaceY) {
    if (surfaceY < AXIS_HEIGHT) return null;
    const y = surfaceY - AXIS_HEIGHT + this.scrollTop;
    return this.rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
  }

  // Scrolls until the row is seen.
  reveal(row) {
    const room = this.height - AXIS_HEIGHT;
    if (row.y < this.scrollTop) this.scroller.scrollTop = row.y;
    if (row.y + row.height > this.scrollTop + room) {
      this.scroller.scrollTop = row.y + row.height - room;
    }
  }

  refresh() {
    this.#isStale = true;
    this.refreshOverlay();
  }

  refreshOverlay() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      if (this.width === undefined) return;
      if (this.#isStale) this.#paintRows();
      this.#isStale = false;
      this.paintOverlay(this.frame(this.overCanvas));
    });
  }

  // What painters are given: a cleared canvas in CSS pixels.
  frame(canvas) {
    const ctx = canvas.getContext('2d');
    const ratio = devicePixelRatio || 1;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.font = FONT;
    ctx.textBaseline = 'middle';
    return {
      ctx,
      theme: this.theme,
      viewport: this.viewport,
      width: this.width,
      height: this.height,
      scrollTop: this.scrollTop,
      gutter: this.gutter,
      colours: this.colours,
      sliceInks: this.sliceInks,
      cellInks: this.cellInks,
      labels: this.#labels,
      strips: this.#strips,
      frames: [],
      labelInside: (row, x0, x1, label) => this.#labelInside(row, x0, x1, label),
    };
  }

  // A text on its ink between two pixels of the time axis; digits are not cut.
  #labelInside(row, x0, x1, { text, ink, isDigits }) {
    const { left, right } = this.viewport;
    const x = left + Math.max(x0, 0);
    const width = Math.min(left + x1 - 1, right) - x;
    const label = { text, colour: textOn(this.colours[ink]), x, y: row.y + row.height / 2, width };
    if (isDigits) {
      this.#labels.addDigits(label);
    } else {
      this.#labels.add(label);
    }
  }

  #paintRows() {
    const frame = this.frame(this.rowsCanvas);
    const { ctx, viewport } = frame;
    ctx.fillStyle = this.theme.paper;
    ctx.fillRect(0, 0, this.width, this.height);
    const ticks = axisTicks(viewport.from_s, viewport.to_s, viewport.right - viewport.left);
    const seen = this.rows.filter(
      (row) => row.y + row.height > this.scrollTop && row.y < this.scrollTop + this.height,
    );
    const ratio = devicePixelRatio || 1;
    this.#strips.start(this.colours, viewport.right - viewport.left, ratio, seen.length);
    paintGrid(frame, ticks);
    ctx.save();
    ctx.translate(0, AXIS_HEIGHT - this.scrollTop);
    for (const row of seen) PAINTERS[row.type]?.(frame, row);
    this.#strips.flush(ctx, viewport.left);
    paintFrames(frame);
    this.#labels.flush(ctx);
    for (const row of seen) paintGutter(frame, row);
    this.#labels.flush(ctx);
    ctx.restore();
    paintAxis(frame, ticks);
    ++this.framesPainted;
  }
}
