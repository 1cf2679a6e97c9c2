// The figures of a summary that a page shows large, and compares: one row each.

import { element } from './dom.js';
import { bytesText, countText, digits, shareText, timeText } from './text.js';

const quantity = (key, label, text) => ({ key, label, text });

const RUN_FIGURES = [
  quantity('step_time_s', 'step time', timeText),
  quantity('compute_s', 'compute', timeText),
  quantity('exposed_comm_s', 'exposed communication', timeText),
  quantity('bubble_s', 'bubble', timeText),
  quantity('rest_s', 'rest', timeText),
  quantity('bubble_fraction', 'bubble, share of all ranks', shareText),
  quantity('span_bubble_fraction', 'bubble, share of the longest span', shareText),
  quantity('overlap_fraction', 'communication hidden', shareText),
  quantity('mfu', 'MFU', shareText),
  quantity('hfu', 'HFU', shareText),
  quantity('tokens_per_s', 'tokens/s', (value) => digits(value)),
  quantity('peak_memory_bytes', 'peak memory', bytesText),
  quantity('memory_left_bytes', 'memory left', bytesText),
  quantity('devices', 'devices', countText),
];
const SCHEDULE_FIGURES = [
  quantity('makespan_s', 'makespan', timeText),
  quantity('max_span_s', 'longest span of a rank', timeText),
  quantity('makespan_bubble', 'bubble, share of the makespan', shareText),
  quantity('span_bubble', 'bubble, share of the longest span', shareText),
  quantity('p2p_transfers', 'transfers between ranks', countText),
  quantity('parameter_copies', 'copies of the parameters', countText),
];

const isNumber = (value) => typeof value === 'number';

// Figures that at least one of the runs has, in the order of the tables above.
export function figuresOf(runs) {
  const table = [...SCHEDULE_FIGURES, ...RUN_FIGURES];
  return table.filter(({ key }) => runs.some((run) => isNumber(run.summary[key])));
}

// The text of a figure, with the exact number beside it.
export function figureElement(tag, figure, run) {
  const value = run.summary[figure.key];
  if (!isNumber(value)) return element(tag, { class: 'number' }, '–');
  const attributes = { class: 'number', 'data-key': figure.key, 'data-value': String(value) };
  return element(tag, attributes, figure.text(value));
}

// A strip of the first figures of one run.
export function figureStrip(run) {
  const entries = figuresOf([run]).map((figure) =>
    element('div', {}, element('dt', {}, figure.label), figureElement('dd', figure, run)),
  );
  return element('dl', { class: 'figures' }, ...entries);
}
