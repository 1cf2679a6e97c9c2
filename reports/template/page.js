// From the data block to the page: what timeline.js and compare.js share.

import { App } from './app.js';
import { element } from './dom.js';
import { exposeProbe } from './probe.js';
import { hasCells, makeRunModel } from './run_model.js';
import { plural } from './text.js';

const SCHEMA = 'shardsim-page-1';

function readData() {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.schema !== SCHEMA) throw new Error(`expected ${SCHEMA}, found ${data.schema}`);
  return data;
}

function leftOutNote(runs) {
  const leftOut = runs.reduce((sum, run) => sum + run.slicesLeftOut, 0);
  if (leftOut === 0) return '';
  return element(
    'p',
    { class: 'note' },
    `${plural(leftOut, 'slice')} shorter than this page can show were merged with neighbours.`,
  );
}

function openPage(head) {
  const data = readData();
  const runs = data.runs.map(makeRunModel);
  const opensAsPipeline =
    runs.some((run) => run.kind === 'schedule' && hasCells(run)) ||
    (runs.length > 1 && runs.every(hasCells));
  const app = new App(runs, opensAsPipeline ? 'pipeline' : 'timeline');
  const body = document.getElementById('static');
  const title = body.querySelector('h1') ?? element('h1', {}, data.title);
  body.before(
    element('header', {}, title, ...head(runs), leftOutNote(runs)),
    app.element,
  );
  app.chart.layOut();
  requestAnimationFrame(() => {
    exposeProbe(app);
    document.documentElement.dataset.ready = '1';
  });
}

// `head(runs)`: elements under the title. What goes wrong is said on the page, over its tables.
export function showPage(head) {
  try {
    openPage(head);
  } catch (error) {
    const text = `This page cannot show its timeline: ${error.message}.`;
    document.body.prepend(element('p', { class: 'problem', role: 'alert' }, text));
    document.documentElement.dataset.ready = 'failed';
  }
}
