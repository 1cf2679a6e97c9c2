// The page of one run or schedule.

import { figureStrip } from './figures.js';
import { showPage } from './page.js';

showPage(([run]) => [figureStrip(run)]);
