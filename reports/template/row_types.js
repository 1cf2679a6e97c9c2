// The kinds of rows: how each is painted.

import { BOLD, FONT } from './labels.js';
import { paintCells } from './paint_cells.js';
import { paintLink } from './paint_links.js';
import { paintMemory } from './paint_memory.js';
import { paintSlices } from './paint_slices.js';

const LINE = 8;  // px, half of the distance of two lines

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
  if (row.note === undefined) {
    labels.add({ text: row.label, colour: isHeading ? theme.ink : theme.quiet, x: 4, y: middle, width, font });
    return;
  }
  labels.add({ text: row.label, colour: theme.quiet, x: 4, y: middle - LINE, width, font });
  labels.add({ text: row.note, colour: theme.quiet, x: 4, y: middle + LINE, width, font });
}
