// window.shardsim: what the page shows, to read. Browser tests use it, and who writes a script
// against a page. Nothing can be set through it.
//
//   view      { from_s, to_s, name, fitted }
//   rows      [{ type, label, note, top, height }] in pixels of the window, scrolled away or not
//   choice    a copy of what search, filters and switches say
//   hits      slices (in the pipeline view: cells) that are not set back
//   hovered, focused, selected   { type, index, name } or null
//   arrows    [[from, to]] indices of the arrows that are shown
//   slices    how many there are
//   frames    painted so far
//   readyAfter_s   from the navigation until the page could be used
//   placeOf(type, index, run)    its rectangle in the window, null where it is not shown

import { describe } from './describe.js';
import { AXIS_HEIGHT } from './axis.js';
import { boxOf, sliceTarget } from './targets.js';

const short = (target) =>
  target && { type: target.type, index: target.index, name: describe(target).title };

function targetOf(app, type, index, run) {
  const { rows } = app.chart;
  if (type === 'slice') return sliceTarget(rows, run, index);
  const rank = run[`${type}s`].rank[index];
  const shows = (row) => row.type === 'cells' || (type === 'bubble' && row.showsGaps);
  const row = rows.find((one) => one.run === run && one.rank === rank && shows(one));
  return row === undefined ? null : { type, run, row, index };
}

function placeOf(app, type, index, runIndex = 0) {
  const target = targetOf(app, type, index, app.runs[runIndex]);
  if (target === null) return null;
  const surface = app.chart.surface.getBoundingClientRect();
  const box = boxOf(target, app.chart.viewport);
  const top = surface.top + AXIS_HEIGHT + box.y - app.chart.scrollTop;
  return { x: surface.left + box.x, y: top, width: box.width, height: box.height };
}

export function exposeProbe(app) {
  const { chart, pointed } = app;
  const probe = {
    get view() {
      const { from_s, to_s, isFitted } = chart.viewport;
      return { from_s, to_s, name: app.choice.view, fitted: isFitted };
    },
    get rows() {
      const top = chart.surface.getBoundingClientRect().top + AXIS_HEIGHT - chart.scrollTop;
      return chart.rows.map(({ type, label, note, y, height }) => ({
        type,
        label,
        note,
        top: top + y,
        height,
      }));
    },
    get choice() {
      return { ...app.choice, hiddenKinds: [...app.choice.hiddenKinds] };
    },
    get hits() {
      return app.hits;
    },
    get hovered() {
      return short(pointed.hovered);
    },
    get focused() {
      return short(pointed.focused);
    },
    get selected() {
      return short(pointed.selected);
    },
    get arrows() {
      return pointed.arrows.map(({ from, to }) => [from.index, to.index]);
    },
    get slices() {
      return app.runs.reduce((sum, run) => sum + run.slices.count, 0);
    },
    get frames() {
      return chart.framesPainted;
    },
    readyAfter_s: performance.now() / 1000,
    placeOf: (type, index, run) => placeOf(app, type, index, run),
  };
  Object.defineProperty(window, 'shardsim', { value: Object.freeze(probe) });
}
