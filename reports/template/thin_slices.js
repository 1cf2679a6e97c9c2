// Level of detail: slices thinner than a pixel are added up per pixel column of a row, which takes
// the colour with the most time among those that are not faint, as strong as it is covered.
// Columns that look alike become one rectangle.

import { strengthOf } from './batches.js';
import { FAINT } from './inks.js';

export class ThinSlices {
  #batches;
  #time = new Float64Array(256);  // [inks] in this column, px
  #seen = [];                     // inks with time
  #column = -1;
  #run = { ink: -1, strength: 0, from: 0, to: 0 };
  #y = 0;
  #height = 0;

  constructor(batches) {
    this.#batches = batches;
  }

  startRow(y, height) {
    this.#y = y;
    this.#height = height;
  }

  add(x, width, ink) {
    const column = Math.floor(x);
    if (column !== this.#column) {
      this.#endColumn();
      this.#column = column;
    }
    if (this.#time[ink] === 0) this.#seen.push(ink);
    this.#time[ink] += width + 1e-9;
  }

  endRow() {
    this.#endColumn();
    this.#endRun();
    this.#column = -1;
  }

  #endColumn() {
    if (this.#seen.length === 0) return;
    let best = FAINT;
    let covered = 0;
    for (const ink of this.#seen) {
      if (ink !== FAINT) covered += this.#time[ink];
      if (ink !== FAINT && (best === FAINT || this.#time[ink] > this.#time[best])) best = ink;
    }
    const strength = strengthOf(best === FAINT ? this.#time[FAINT] : covered);
    for (const ink of this.#seen) this.#time[ink] = 0;
    this.#seen.length = 0;
    const run = this.#run;
    if (run.ink !== best || run.strength !== strength || run.to !== this.#column) {
      this.#endRun();
      run.ink = best;
      run.strength = strength;
      run.from = this.#column;
    }
    run.to = this.#column + 1;
  }

  #endRun() {
    const run = this.#run;
    if (run.ink >= 0) {
      this.#batches.add(run.ink, run.strength, run.from, this.#y, run.to - run.from, this.#height);
    }
    run.ink = -1;
  }
}
