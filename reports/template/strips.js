// Slices of a row as one line of pixels, stretched to the height of the row: a frame costs one
// drawImage a row, however many slices there are.
//
// Level of detail: what is thinner than some pixels is added up per pixel column, which takes the
// colour with the most time among those that are not faint, as strong as it is covered.

import { FAINT } from './inks.js';

const WIDE = 4;  // device pixels, from which on a slice has edges and a space behind it
const FAINT_ALPHA = 56;
const LEAST_ALPHA = 110;

// #rrggbb as a pixel of ImageData, without alpha.
function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (value >> 16) | (value & 0xff00) | ((value & 0xff) << 16);
}

const withAlpha = (pixel, alpha) => (pixel | (alpha << 24)) >>> 0;

export class Strips {
  #canvas = document.createElement('canvas');
  #pixels = new Uint32Array(0);
  #colours = [];
  #width = 0;
  #ratio = 1;
  #rows = [];
  #line = 0;                      // index of the first pixel of the current row
  #time = new Float64Array(256);  // [inks] in the current column, device pixels
  #seen = [];                     // inks with time
  #column = -1;

  // `width`: of the rows, in CSS pixels; at most `rows` of them follow.
  start(colours, width, ratio, rows) {
    this.#ratio = ratio;
    this.#width = Math.max(1, Math.ceil(width * ratio));
    this.#colours = colours.map(pixelOf);
    const pixels = this.#width * Math.max(1, rows);
    if (this.#pixels.length < pixels) this.#pixels = new Uint32Array(pixels);
    this.#pixels.fill(0);
    this.#rows = [];
  }

  startRow(y, height) {
    this.#line = this.#rows.length * this.#width;
    this.#rows.push({ y, height });
    this.#column = -1;
  }

  // CSS pixels from the left end of the row, in the order of x0.
  add(x0, x1, ink) {
    const from = x0 * this.#ratio;
    const to = x1 * this.#ratio;
    if (to - from >= WIDE) {
      this.#fill(Math.round(from), Math.round(to) - 1, ink);
      return;
    }
    let column = Math.floor(from);
    do {
      const share = Math.min(column + 1, to) - Math.max(column, from);
      this.#cover(column, share + 1e-6, ink);
      ++column;
    } while (column < to);
  }

  endRow() {
    this.#endColumn();
  }

  flush(ctx, left) {
    if (this.#rows.length === 0) return;
    const { length } = this.#rows;
    this.#canvas.width = this.#width;
    this.#canvas.height = length;
    const bytes = new Uint8ClampedArray(this.#pixels.buffer, 0, this.#width * length * 4);
    this.#canvas.getContext('2d').putImageData(new ImageData(bytes, this.#width, length), 0, 0);
    ctx.imageSmoothingEnabled = false;
    const width = this.#width / this.#ratio;
    this.#rows.forEach(({ y, height }, line) => {
      ctx.drawImage(this.#canvas, 0, line, this.#width, 1, left, y, width, height);
    });
  }

  #fill(from, to, ink) {
    this.#endColumn();
    const alpha = ink === FAINT ? FAINT_ALPHA : 255;
    const first = this.#line + Math.min(Math.max(from, 0), this.#width);
    const last = this.#line + Math.min(Math.max(to, 0), this.#width);
    this.#pixels.fill(withAlpha(this.#colours[ink], alpha), first, last);
  }

  #cover(column, share, ink) {
    if (column !== this.#column) {
      this.#endColumn();
      this.#column = column;
    }
    if (this.#time[ink] === 0) this.#seen.push(ink);
    this.#time[ink] += share;
  }

  #endColumn() {
    if (this.#seen.length === 0) return;
    let best = FAINT;
    let covered = 0;
    for (const ink of this.#seen) {
      const time = this.#time[ink];
      if (ink !== FAINT) covered += time;
      if (ink !== FAINT && (best === FAINT || time > this.#time[best])) best = ink;
    }
    for (const ink of this.#seen) this.#time[ink] = 0;
    this.#seen.length = 0;
    if (this.#column < 0 || this.#column >= this.#width) return;
    const strong = LEAST_ALPHA + (255 - LEAST_ALPHA) * Math.min(1, covered);
    const alpha = best === FAINT ? FAINT_ALPHA : Math.round(strong);
    this.#pixels[this.#line + this.#column] = withAlpha(this.#colours[best], alpha);
  }
}
