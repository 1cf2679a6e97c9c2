// Which colour every slice and cell has now: one byte each, FAINT for what search, filters or the
// critical-path switch set back. Made when a choice changes, not when a frame is drawn.

import { CODES, MICROBATCH_COLOURS, NEUTRAL, codeColour, kindColour, lighter } from './palette.js';

export const FAINT = 0;
const NO_MICROBATCH = 1;
const FIRST_MICROBATCH = 2;
const FIRST_CODE = FIRST_MICROBATCH + MICROBATCH_COLOURS.length;
const CODE_NAMES = [...Object.keys(CODES), 'other'];
const FIRST_KIND = FIRST_CODE + 2 * CODE_NAMES.length;

// All colours of a page by ink; kinds of all its runs come last.
export class Inks {
  #kinds = new Map();

  constructor(runs) {
    this.kinds = [];
    for (const kind of runs.flatMap((run) => run.kinds)) {
      if (this.#kinds.has(kind.name)) continue;
      this.#kinds.set(kind.name, FIRST_KIND + this.kinds.length);
      this.kinds.push(kind);
    }
    const codes = CODE_NAMES.map(codeColour);
    this.colours = [
      NEUTRAL,
      NEUTRAL,
      ...MICROBATCH_COLOURS,
      ...codes,
      ...codes.map(lighter),
      ...this.kinds.map((kind) => kindColour(kind)),
    ];
    if (this.colours.length > 256) throw new Error('more kinds of work than colours');
  }

  ofKind(name) {
    return this.#kinds.get(name);
  }

  ofCode(code, chunk) {
    const at = CODE_NAMES.indexOf(code);
    const later = chunk > 0 ? CODE_NAMES.length : 0;
    return FIRST_CODE + later + (at < 0 ? CODE_NAMES.length - 1 : at);
  }

  // `coded`: 1 more than the micro-batch, 0 for none.
  ofMicrobatch(coded) {
    if (coded === 0) return NO_MICROBATCH;
    return FIRST_MICROBATCH + ((coded - 1) % MICROBATCH_COLOURS.length);
  }
}

// [origins] 1 where name and kind are wanted.
function wantedOrigins(run, choice) {
  const { origins } = run;
  const needle = choice.search.toLowerCase();
  const texts = run.texts.map((text) => text.toLowerCase().includes(needle));
  const wanted = new Uint8Array(origins.count);
  for (let i = 0; i < origins.count; ++i) {
    const kind = run.kinds[origins.kind[i]].name;
    wanted[i] = texts[origins.name[i]] && !choice.hiddenKinds.has(kind) ? 1 : 0;
  }
  return wanted;
}

// Of every slice of `run`; `hits` counts those that are not set back.
export function inkSlices(run, choice, inks) {
  const { slices, origins } = run;
  const wanted = wantedOrigins(run, choice);
  const byKind = Uint8Array.from(origins.kind, (kind) => inks.ofKind(run.kinds[kind].name));
  const made = new Uint8Array(slices.count);
  let hits = 0;
  for (let i = 0; i < slices.count; ++i) {
    const origin = slices.origin[i];
    if (
      !wanted[origin] ||
      (choice.critical && !slices.critical[i]) ||
      (choice.stage !== null && slices.stage[i] !== choice.stage) ||
      (choice.microbatch !== null && slices.microbatch[i] !== choice.microbatch + 1)
    ) {
      continue;
    }
    ++hits;
    made[i] =
      choice.colourBy === 'kind' ? byKind[origin] : inks.ofMicrobatch(slices.microbatch[i]);
  }
  return { inks: made, hits };
}

// "F3" of a forward of micro-batch 3.
const cellText = (code, microbatch) => (code === 'O' ? 'O' : `${code}${microbatch}`);

// The halves of a cell: one, or two that overlap. Each { code, microbatch, chunk, stage }.
export function cellHalves(run, cell) {
  const { cells, texts } = run;
  const first = {
    code: texts[cells.code[cell]],
    microbatch: cells.microbatch[cell],
    chunk: cells.chunk[cell],
    stage: cells.stage[cell],
  };
  if (cells.second_code[cell] === 0) return [first];
  const second = {
    code: texts[cells.second_code[cell] - 1],
    microbatch: cells.second_microbatch[cell],
    chunk: cells.second_chunk[cell],
    stage: cells.second_stage[cell],
  };
  return [first, second];
}

function isWantedHalf({ code, microbatch, stage }, choice) {
  const needle = choice.search.toLowerCase();
  return (
    cellText(code, microbatch).toLowerCase().includes(needle) &&
    (choice.microbatch === null || (code !== 'O' && microbatch === choice.microbatch)) &&
    (choice.stage === null || stage === choice.stage)
  );
}

// Of the two halves of every cell.
export function inkCells(run, choice, inks) {
  const { cells } = run;
  const made = [new Uint8Array(cells.count), new Uint8Array(cells.count)];
  let hits = 0;
  for (let cell = 0; cell < cells.count; ++cell) {
    if (choice.critical && !cells.critical[cell]) continue;
    const halves = cellHalves(run, cell);
    if (!halves.some((half) => isWantedHalf(half, choice))) continue;
    ++hits;
    halves.forEach(({ code, microbatch, chunk }, i) => {
      made[i][cell] =
        choice.colourBy === 'kind'
          ? inks.ofCode(code, chunk)
          : inks.ofMicrobatch(code === 'O' ? 0 : microbatch + 1);
    });
  }
  return { inks: made, hits };
}
