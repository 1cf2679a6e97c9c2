// What a target is, in words: for the hover card, the details and the live region.

import { cellHalves } from './inks.js';
import { CODES } from './palette.js';
import { bytesAt } from './paint_memory.js';
import { shareOfLink } from './paint_links.js';
import { originName, sliceKind, sliceName } from './run_model.js';
import { timesOf } from './targets.js';
import { bytesText, rateText, shareText, timeText } from './text.js';

function times(target) {
  const [begin, end] = timesOf(target);
  return [
    ['start', timeText(begin)],
    ['duration', timeText(end - begin)],
  ];
}

function waitedFor(run, coded) {
  if (coded === 0) return [];
  const cause = coded - 1;
  const { label } = run.ranks[run.tracks[run.slices.track[cause]].rank];
  const end = timeText(run.slices.end[cause] * run.tick_s);
  return [['waited for', `${sliceName(run, cause)} (${label}), which ended at ${end}`]];
}

function describeSlice(target) {
  const { run, index } = target;
  const { slices, origins } = run;
  const origin = slices.origin[index];
  const track = run.tracks[slices.track[index]];
  const kind = sliceKind(run, index);
  const lines = [
    ['kind', kind.name],
    ['on', `${track.label}, ${track.stream}`],
    ...times(target),
  ];
  if (slices.microbatch[index] > 0) lines.push(['micro-batch', `${slices.microbatch[index] - 1}`]);
  if (run.ranks.length > 1) lines.push(['stage', `${slices.stage[index]}`]);
  if (origins.layer[origin] > 0) lines.push(['layer', `${origins.layer[origin] - 1}`]);
  if (origins.bytes[origin] > 0) lines.push(['bytes', bytesText(origins.bytes[origin])]);
  if (origins.links[origin] > 0) lines.push(['links', run.texts[origins.links[origin] - 1]]);
  lines.push(...waitedFor(run, slices.cause[index]));
  if (slices.critical[index]) lines.push(['critical path', 'yes']);
  return { title: originName(run, origin), lines };
}

function describeHalf({ code, microbatch }) {
  const name = CODES[code]?.text ?? code;
  return code === 'O' ? name : `${name} of micro-batch ${microbatch}`;
}

function describeCell(target) {
  const { run, index } = target;
  const halves = cellHalves(run, index);
  const critical = run.cells.critical[index] ? [['critical path', 'yes']] : [];
  return {
    title: halves.map(describeHalf).join(', overlapped with '),
    lines: [
      ['on', run.ranks[run.cells.rank[index]].label],
      ['stage', halves.map((half) => half.stage).join(' and ')],
      ['chunk', halves.map((half) => half.chunk).join(' and ')],
      ...times(target),
      ...critical,
    ],
  };
}

function describeBubble(target) {
  const { run, index } = target;
  const { bubbles } = run;
  return {
    title: 'bubble',
    lines: [
      ['why', run.texts[bubbles.text[index]]],
      ['on', run.ranks[bubbles.rank[index]].label],
      ...times(target),
      ...waitedFor(run, bubbles.cause[index]),
    ],
  };
}

function describeMemory({ run, row, index, tick }) {
  const { memory } = row;
  const lines = memory.kinds.map((kind, i) => [kind, bytesText(memory.bytes[i][index])]);
  if (memory.limit_bytes !== null) lines.push(['limit', bytesText(memory.limit_bytes)]);
  lines.push(['at', timeText(tick * run.tick_s)]);
  const { label } = run.ranks[memory.rank];
  return { title: `memory of ${label}: ${bytesText(bytesAt(memory, index))}`, lines };
}

function describeLink({ run, row, index, tick }) {
  const { link } = row;
  const share = shareOfLink(link, index);
  return {
    title: link.name,
    lines: [
      ['used', `${shareText(share)}, ${rateText(share * link.bandwidth_bytes_per_s)}`],
      ['bandwidth', rateText(link.bandwidth_bytes_per_s)],
      ['at', timeText(tick * run.tick_s)],
    ],
  };
}

const DESCRIBERS = {
  slice: describeSlice,
  cell: describeCell,
  bubble: describeBubble,
  memory: describeMemory,
  link: describeLink,
};

// { title, lines: [[term, text]] }
export const describe = (target) => DESCRIBERS[target.type](target);

export function sentence(target) {
  const { title, lines } = describe(target);
  return [title, ...lines.map(([term, text]) => `${term} ${text}`)].join('; ');
}
