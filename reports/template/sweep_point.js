// One point: the command that makes it again, its figures, and its run as a file.

import { button, element, termList } from './dom.js';
import { cellText, valueOf } from './sweep_model.js';

// As a shell reads it back.
const shellWord = (text) =>
  /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function pointDetails(sweep, point) {
  const known = sweep.columns.filter((c) => c.key !== 'point' && valueOf(point, c) !== null);
  const file = `point-${point.number}.yaml`;
  const command =
    `shardsim sweep export ${shellWord(sweep.db)} --point ${point.number} > ${file} && ` +
    `shardsim run ${file}`;
  const link = element(
    'a',
    { href: `data:text/yaml;charset=utf-8,${encodeURIComponent(point.run)}`, download: file },
    `Save ${file}`,
  );
  return [
    element('h2', {}, `Point ${point.number}`),
    element('h3', {}, 'to run it again'),
    element('pre', { class: 'command', 'data-probe': 'command' }, command),
    element('p', {}, link, ` for shardsim run ${file}`),
    termList(known.map((column) => [column.label, cellText(column, valueOf(point, column))])),
    element('h3', {}, 'run file'),
    element('pre', { class: 'command', 'data-probe': 'run' }, point.run),
  ];
}

export function pointDialog(sweep) {
  const close = () => dialog.close();
  const dialog = element('dialog', {
    class: 'details',
    'aria-label': 'chosen point',
    onClick: (event) => {
      if (event.target === dialog) close();
    },
  });
  const show = (point) => {
    dialog.replaceChildren(button('Close', close, { 'data-control': 'close' }), ...pointDetails(sweep, point));
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  return { element: dialog, show };
}
