// The figures of a summary that pages show and compare: the rows of sim/report/figures.cpp.

import { element } from './dom.js';
import { bytesText, countText, digits, shareText, timeText } from './text.js';

// `key` in the summary of a run, `schedule` in that of a schedule; `isLarge`: at the top of a page.
const figure = (label, key, schedule, text, more = {}) => ({ label, key, schedule, text, ...more });

const LARGE = { isLarge: true };
const SHARE = { isShare: true };

const speedText = (perSecond) => countText(Number(digits(perSecond)));

const FIGURES = [
  figure('step', 'step_time_s', 'makespan_s', timeText, LARGE),
  figure('longest span of a rank', 'max_span_s', 'max_span_s', timeText),
  figure('compute', 'compute_s', '', timeText, LARGE),
  figure('communication', 'comm_s', '', timeText),
  figure('exposed communication', 'exposed_comm_s', '', timeText, LARGE),
  figure('bubble', 'bubble_s', '', timeText, LARGE),
  figure('rest', 'rest_s', '', timeText),
  figure('bubble of all ranks', 'bubble_fraction', 'makespan_bubble', shareText, {
    ...SHARE,
    ...LARGE,
  }),
  figure('bubble of the longest span', 'span_bubble_fraction', 'span_bubble', shareText, SHARE),
  figure('MFU', 'mfu', '', shareText, { ...SHARE, ...LARGE }),
  figure('HFU', 'hfu', '', shareText, SHARE),
  figure('tokens/s', 'tokens_per_s', '', speedText, LARGE),
  figure('peak memory', 'peak_memory_bytes', '', bytesText, LARGE),
  figure('devices', 'devices', 'stages', countText, LARGE),
  figure('transfers between ranks', 'p2p_transfers', 'p2p_transfers', countText, LARGE),
  figure('copies of the model', 'parameter_copies', 'parameter_copies', countText, LARGE),
];

const isNumber = (value) => typeof value === 'number';

const keyIn = ({ key, schedule }, { summary }) => (isNumber(summary[key]) ? key : schedule);

// Figures that at least one of the runs has.
export function figuresOf(runs) {
  return FIGURES.filter((one) => runs.some((run) => isNumber(run.summary[keyIn(one, run)])));
}

// The text of a figure, with the exact number beside it.
export function figureElement(tag, one, run) {
  const key = keyIn(one, run);
  const value = run.summary[key];
  if (!isNumber(value)) return element(tag, { class: 'number' }, '–');
  const attributes = { class: 'number', 'data-key': key, 'data-value': String(value) };
  return element(tag, attributes, one.text(value));
}

// What a page shows large of its run.
export function figureStrip(run) {
  const large = figuresOf([run]).filter((one) => one.isLarge);
  const entries = large.map((one) =>
    element('div', {}, element('dt', {}, one.label), figureElement('dd', one, run)),
  );
  return element('dl', { class: 'figures' }, ...entries);
}

const signed = (value, text) => `${value < 0 ? '−' : '+'}${text}`;

const withSign = (value) => signed(value, Math.abs(value).toFixed(1));

// One decimal, or the first digit of what that would show as none.
const pointsText = (points) =>
  Math.abs(points) < 0.05 ? signed(points, digits(Math.abs(points), 1)) : withSign(points);

// To the same figure of the first run: percent, of shares points.
export function differenceText(one, run, firstRun) {
  const value = run.summary[keyIn(one, run)];
  const first = firstRun.summary[keyIn(one, firstRun)];
  if (!isNumber(value) || !isNumber(first)) return '';
  const difference = value - first;
  if (Math.abs(difference) <= 1e-9 * Math.max(Math.abs(value), Math.abs(first))) return '=';
  if (one.isShare) return `${pointsText(100 * difference)} points`;
  return first === 0 ? '' : `${withSign((100 * difference) / first)} %`;
}
