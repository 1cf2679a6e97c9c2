// The rows of a page from top to bottom: what is shown of which run, and how high.

import { peakText } from './paint_memory.js';
import { plural } from './text.js';

const HEIGHTS = { heading: 24, slices: 21, cells: 24, memory: 42, link: 20 };  // px
const MOST_CELL = 40;
const CELLS = 480;  // few rows of cells share this height

function trackRows(run, rank) {
  const { label, devices } = run.ranks[rank];
  const tracks = run.tracks.filter((track) => track.rank === rank);
  const compute = tracks.find((track) => track.stream === 'compute');
  const isOneDevice = tracks.every((track) => track.label === tracks[0].label);
  const rows = tracks.map((track) => ({
    type: 'slices',
    run,
    rank,
    track,
    showsGaps: track === compute,
    label: isOneDevice ? track.stream : `${track.stream}, ${track.label}`,
  }));
  return [{ type: 'heading', run, label: `${label}, ${plural(devices, 'device')}` }, ...rows];
}

function rankRows(run, rank, { view, showsMemory }) {
  const { label } = run.ranks[rank];
  const rows = view === 'pipeline' ? [{ type: 'cells', run, rank, label }] : trackRows(run, rank);
  if (showsMemory) {
    for (const memory of run.memory.filter((one) => one.rank === rank)) {
      rows.push({ type: 'memory', run, rank, memory, label: 'memory', note: peakText(memory) });
    }
  }
  return rows;
}

function linkRows(run) {
  if (run.links.length === 0) return [];
  const { linksLeftOut } = run;
  const more = linksLeftOut > 0 ? `, ${plural(linksLeftOut, 'less busy link')} left out` : '';
  const heading = { type: 'heading', run, label: `links, busiest first${more}` };
  return [heading, ...run.links.map((link) => ({ type: 'link', run, link, label: link.name }))];
}

// Rows with their place: { type, run, label, y, height, … }. In the pipeline view a run without a
// pipeline shows its tracks.
export function makeRows(runs, choice) {
  const rows = [];
  for (const run of runs) {
    if (runs.length > 1) rows.push({ type: 'heading', run, label: run.name, isRun: true });
    const view = choice.view === 'pipeline' && run.cells.count === 0 ? 'timeline' : choice.view;
    run.ranks.forEach((_, rank) => rows.push(...rankRows(run, rank, { ...choice, view })));
    if (choice.showsLinks) rows.push(...linkRows(run));
  }
  const cells = rows.filter((row) => row.type === 'cells').length;
  const cellHeight = Math.max(HEIGHTS.cells, Math.min(MOST_CELL, CELLS / cells));
  const heights = { ...HEIGHTS, cells: cellHeight };
  let y = 0;
  for (const row of rows) {
    row.height = heights[row.type];
    row.y = y;
    y += row.height;
  }
  return { rows, height: y };
}
