// The kinds of rows: how each is painted.

import { BOLD, FONT } from './labels.js';
import { paintCells } from './paint_cells.js';
import { paintLink } from './paint_links.js';
import { paintMemory } from './paint_memory.js';
import { paintSlices } from './paint_slices.js';

const LINE = 16;  // px

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
export function paintGutter({ ctx, theme, gutter, width: rowWidth, labels }, row) {
  const isHeading = row.type === 'heading';
  if (!isHeading) {
    ctx.fillStyle = theme.paper;
    ctx.fillRect(0, row.y, gutter - 1, row.height);
  }
  const middle = row.y + row.height / 2;
  const width = isHeading ? rowWidth - 8 : gutter - 8;
  const font = isHeading ? BOLD : FONT;
  const colour = isHeading ? theme.ink : theme.quiet;
  const lines = row.note === undefined ? [row.label] : [row.label, row.note];
  lines.forEach((text, i) => {
    const y = middle + LINE * (i - (lines.length - 1) / 2);
    labels.add({ text, colour, x: 4, y, width, font });
  });
}
