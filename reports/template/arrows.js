// Arrows of what is selected: of a slice the dependencies into it and out of it, of a cell the way
// of its micro-batch from rank to rank.

import { cellHalves } from './inks.js';
import { isSame, sliceTarget } from './targets.js';

const FORWARD = new Set(['F']);
const BACKWARD = new Set(['B', 'I']);

// Slices that `slice` waits for: its arrows, and what it waited for last.
export function sourcesOf(run, slice) {
  const sources = run.dependencies.into(slice);
  const cause = run.slices.cause[slice] - 1;
  return cause >= 0 && !sources.includes(cause) ? [...sources, cause] : sources;
}

// [{ from, to }]: targets, of rows that are shown.
export function arrowsOf(target, rows) {
  if (target === null) return [];
  const { run, index } = target;
  if (target.type === 'cell') return wayOfMicrobatch(target, rows);
  if (target.type === 'bubble') {
    const cause = run.bubbles.cause[index] - 1;
    const from = cause < 0 ? null : sliceTarget(rows, run, cause);
    return from === null ? [] : [{ from, to: afterBubble(target) }];
  }
  if (target.type !== 'slice') return [];
  const into = sourcesOf(run, index).map((one) => ({
    from: sliceTarget(rows, run, one),
    to: target,
  }));
  const out = run.dependencies
    .outOf(index)
    .map((one) => ({ from: target, to: sliceTarget(rows, run, one) }));
  return [...into, ...out].filter(({ from, to }) => from !== null && to !== null);
}

// An arrow points at the end of a bubble: where the wait is over.
function afterBubble(target) {
  const { end } = target.run.bubbles;
  const at = target.index;
  const run = { ...target.run, bubbles: { ...target.run.bubbles, begin: { [at]: end[at] } } };
  return { ...target, run };
}

function wayOfMicrobatch(target, rows) {
  const { run, index } = target;
  const { microbatch } = cellHalves(run, index)[0];
  const stops = [];
  for (let cell = 0; cell < run.cells.count; ++cell) {
    for (const half of cellHalves(run, cell)) {
      const pass = FORWARD.has(half.code) ? 0 : BACKWARD.has(half.code) ? 1 : -1;
      if (half.microbatch === microbatch && pass >= 0) stops.push({ cell, half, pass });
    }
  }
  stops.sort(
    (a, b) => a.pass - b.pass || (a.pass === 0 ? 1 : -1) * (a.half.stage - b.half.stage),
  );
  const rowOf = (rank) =>
    rows.find((row) => row.type === 'cells' && row.run === run && row.rank === rank);
  const targets = stops.map(({ cell }) => ({
    type: 'cell',
    run,
    row: rowOf(run.cells.rank[cell]),
    index: cell,
  }));
  return targets
    .slice(1)
    .map((to, i) => ({ from: targets[i], to }))
    .filter(({ from, to }) => !isSame(from, to));
}
