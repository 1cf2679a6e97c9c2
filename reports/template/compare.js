// The page of two to six runs or schedules on one time axis.

import { differenceTable } from './differences.js';
import { showPage } from './page.js';

showPage((runs) => {
  // The same table as text for readers without scripts: the first of the static part.
  document.querySelector('#static .scroll')?.remove();
  return [differenceTable(runs)];
});
