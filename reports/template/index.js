// The index page of an output directory is complete without JavaScript; this adds the theme switch.

import { themeSwitch } from './theme.js';

document.getElementById('static').prepend(themeSwitch());
document.documentElement.dataset.ready = '1';
