// A run as the painters want it: typed arrays; slices sorted by (track, begin), those of one track
// do not overlap.

import { decodeColumns, decodeList } from './columns.js';
import { Dependencies } from './dependencies.js';
import { measureMemory } from './paint_memory.js';

const SLICE_TYPES = {
  track: Uint32Array,
  begin: Float64Array,
  length: Float64Array,
  origin: Int32Array,
  microbatch: Int32Array,
  stage: Int32Array,
  chunk: Int32Array,
  cause: Int32Array,
  critical: Uint8Array,
};
const ORIGIN_TYPES = {
  name: Int32Array,
  kind: Int32Array,
  layer: Int32Array,
  bytes: Float64Array,
  links: Int32Array,
};
const BUBBLE_TYPES = {
  rank: Int32Array,
  begin: Float64Array,
  length: Float64Array,
  text: Int32Array,
  cause: Int32Array,
};
const CELL_TYPES = {
  rank: Int32Array,
  begin: Float64Array,
  length: Float64Array,
  code: Int32Array,
  microbatch: Int32Array,
  chunk: Int32Array,
  stage: Int32Array,
  second_code: Int32Array,
  second_microbatch: Int32Array,
  second_chunk: Int32Array,
  second_stage: Int32Array,
};

function endsOf({ count, begin, length }) {
  const end = new Float64Array(count);
  for (let i = 0; i < count; ++i) end[i] = begin[i] + length[i];
  return end;
}

// [keys + 1]: rows of key k are first[k] … first[k + 1]. REQUIRES: `column` does not decrease.
function firstRows(column, keys) {
  const first = new Uint32Array(keys + 1);
  for (let i = 0; i < column.length; ++i) {
    if (column[i] >= keys || (i > 0 && column[i] < column[i - 1])) {
      throw new Error('the rows of a table are not in order');
    }
    ++first[column[i] + 1];
  }
  for (let key = 0; key < keys; ++key) first[key + 1] += first[key];
  return first;
}

function stepFunctions(run) {
  const memory = run.memory.map((one) =>
    measureMemory({
      ...one,
      at: decodeList(one.at, true),
      bytes: one.bytes.map((column) => decodeList(column)),
    }),
  );
  const links = run.links.map((one) => ({
    ...one,
    at: decodeList(one.at, true),
    rate: decodeList(one.rate),
  }));
  return { memory, links };
}

// [cells] 1 where work on the critical path is part of the cell: slices of the rank's first track.
function criticalCells(cells, slices, tracks) {
  const critical = new Uint8Array(cells.count);
  tracks.forEach((track, number) => {
    const isFirst = tracks.findIndex((one) => one.rank === track.rank) === number;
    let slice = track.first;
    const [first, last] = [cells.firstOfRank[track.rank], cells.firstOfRank[track.rank + 1]];
    for (let cell = first; isFirst && cell < last; ++cell) {
      for (; slice < track.last && slices.begin[slice] < cells.end[cell]; ++slice) {
        if (slices.critical[slice] && slices.end[slice] > cells.begin[cell]) critical[cell] = 1;
      }
    }
  });
  return critical;
}

export function makeRunModel(run, index) {
  const slices = decodeColumns(run.slices, SLICE_TYPES);
  const bubbles = decodeColumns(run.bubbles, BUBBLE_TYPES);
  const cells = decodeColumns(run.cells, CELL_TYPES);
  const arrows = decodeColumns(run.arrows, { from: Int32Array, to: Int32Array });
  const first = firstRows(slices.track, run.tracks.length);
  const ranks = run.ranks.length;
  const withEnds = { ...slices, end: endsOf(slices) };
  const tracks = run.tracks.map((track, i) => ({ ...track, first: first[i], last: first[i + 1] }));
  const ranked = { ...cells, end: endsOf(cells), firstOfRank: firstRows(cells.rank, ranks) };
  return {
    index,
    name: run.name,
    kind: run.kind,
    summary: run.summary,
    step_s: run.step_s,
    tick_s: run.tick_s,
    slicesLeftOut: run.slices_left_out,
    linksLeftOut: run.links_left_out ?? 0,
    texts: run.texts,
    kinds: run.kinds,
    ranks: run.ranks,
    tracks,
    origins: decodeColumns(run.origins, ORIGIN_TYPES),
    slices: withEnds,
    bubbles: { ...bubbles, end: endsOf(bubbles), firstOfRank: firstRows(bubbles.rank, ranks) },
    cells: { ...ranked, critical: criticalCells(ranked, withEnds, tracks) },
    dependencies: new Dependencies(arrows, slices.count),
    ...stepFunctions(run),
  };
}

export const originName = (run, origin) => run.texts[run.origins.name[origin]];
export const sliceName = (run, slice) => originName(run, run.slices.origin[slice]);
export const sliceKind = (run, slice) => run.kinds[run.origins.kind[run.slices.origin[slice]]];
export const hasCells = (run) => run.cells.count > 0;

// The first row in [from, to) whose `column` is above `value`; `column` does not decrease there.
export function firstAbove(column, value, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] > value) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}
