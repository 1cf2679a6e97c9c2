// The kinds of rows: how each is painted.

import { paintCells } from './paint_cells.js';
import { paintLink } from './paint_links.js';
import { paintMemory } from './paint_memory.js';
import { paintSlices } from './paint_slices.js';

export const PAINTERS = {
  slices: paintSlices,
  cells: paintCells,
  memory: paintMemory,
  link: paintLink,
  heading: ({ ctx, theme, width }, row) => {
    ctx.fillStyle = row.isRun ? theme.line : theme.band;
    ctx.fillRect(0, row.y, width, row.height);
  },
};

// Names of rows, left of the time axis; those of headings may run over it.
export function paintGutter({ ctx, theme, gutter, width, labels }, row) {
  const isHeading = row.type === 'heading';
  if (!isHeading) {
    ctx.fillStyle = theme.paper;
    ctx.fillRect(0, row.y, gutter - 1, row.height);
  }
  ctx.font = isHeading ? ctx.font.replace(/^/, '600 ') : ctx.font;
  labels.add({
    text: row.label,
    colour: isHeading ? theme.ink : theme.quiet,
    x: 4,
    y: row.y + row.height / 2,
    width: isHeading ? width - 8 : gutter - 8,
  });
  labels.flush(ctx);
  ctx.font = ctx.font.replace(/^600 /, '');
}
