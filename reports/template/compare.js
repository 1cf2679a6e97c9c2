// The page of two to six runs or schedules on one time axis.

import { differenceTable } from './differences.js';
import { showPage } from './page.js';

showPage((runs) => [differenceTable(runs)]);
