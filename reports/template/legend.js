// What colours mean. In the timeline kinds are buttons: pressed is shown, otherwise set back.

import { button, element } from './dom.js';
import { cellHalves } from './inks.js';
import {
  CODES,
  MICROBATCH_COLOURS,
  NEUTRAL,
  codeColour,
  kindColour,
  lighter,
  memoryColour,
  microbatchColour,
} from './palette.js';

// A swatch is drawn: colours in a style attribute would need a weaker content policy.
function swatch(colour, className = 'swatch') {
  const made = element('span', { class: className, 'aria-hidden': 'true' });
  made.style.backgroundColor = colour;
  return made;
}

const entry = (mark, text) => element('span', { class: 'entry' }, mark, text);

function kindButtons(app) {
  const { hiddenKinds, colourBy } = app.choice;
  return app.inks.kinds.map((kind) => {
    const toggle = () => {
      hiddenKinds.has(kind.name) ? hiddenKinds.delete(kind.name) : hiddenKinds.add(kind.name);
      app.change({});
      focusKind(app, kind.name);
    };
    const made = button('', toggle, {
      class: 'entry',
      'aria-pressed': String(!hiddenKinds.has(kind.name)),
      'data-kind': kind.name,
      title: 'show or set back',
    });
    made.append(swatch(colourBy === 'kind' ? kindColour(kind) : NEUTRAL), kind.name);
    return made;
  });
}

// The legend is made anew by a change; the focus stays where it was.
function focusKind(app, name) {
  for (const one of app.legend.querySelectorAll('[data-kind]')) {
    if (one.dataset.kind === name) one.focus();
  }
}

function codeEntries(app) {
  const used = new Set();
  let hasLater = false;
  let hasPairs = false;
  for (const run of app.runs) {
    for (let cell = 0; cell < run.cells.count; ++cell) {
      const halves = cellHalves(run, cell);
      for (const { code, chunk } of halves) {
        used.add(code);
        hasLater ||= chunk > 0;
      }
      hasPairs ||= halves.length > 1;
    }
  }
  const entries = [...used].map((code) =>
    entry(swatch(codeColour(code)), `${code} ${CODES[code]?.text ?? ''}`),
  );
  if (hasLater) entries.push(entry(swatch(lighter(codeColour('F'))), 'later chunk: lighter'));
  if (hasPairs) entries.push(entry(swatch('transparent', 'swatch framed'), 'overlapped pair'));
  entries.push(entry(swatch('transparent', 'swatch gap'), 'bubble'));
  return entries;
}

function microbatchEntries() {
  return [
    ...MICROBATCH_COLOURS.map((_, i) => entry(swatch(microbatchColour(i)), `${i}`)),
    entry('', `micro-batches take the ${MICROBATCH_COLOURS.length} colours in turn`),
    entry(swatch(NEUTRAL), 'of no micro-batch'),
  ];
}

function memoryEntries(app) {
  if (!app.choice.showsMemory) return [];
  const kinds = new Set(app.runs.flatMap((run) => run.memory.flatMap((one) => one.kinds)));
  if (kinds.size === 0) return [];
  const entries = [...kinds].map((kind) => entry(swatch(memoryColour(kind)), kind));
  if (app.runs.some((run) => run.memory.some((one) => one.showsLimit))) {
    entries.push(entry(swatch('transparent', 'swatch limit'), 'limit of the device'));
  }
  return [element('span', { class: 'entry title' }, 'memory:'), ...entries];
}

export function makeLegend(app) {
  const isPipeline = app.choice.view === 'pipeline';
  const byMicrobatch = app.choice.colourBy === 'microbatch' ? microbatchEntries() : [];
  const main =
    isPipeline && byMicrobatch.length === 0 ? codeEntries(app) : isPipeline ? [] : kindButtons(app);
  return [
    element('div', {}, ...main, ...byMicrobatch),
    element('div', {}, ...memoryEntries(app)),
  ];
}
