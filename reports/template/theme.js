// Dark or light: as the system says until the switch is used. Colours of the page itself are CSS
// variables (style.css), read here for the canvas.

import { button } from './dom.js';

const NAMES = ['paper', 'ink', 'quiet', 'line', 'band', 'accent', 'danger', 'gap'];

const systemIsDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

export function currentTheme() {
  return document.documentElement.dataset.theme ?? (systemIsDark() ? 'dark' : 'light');
}

// { paper: '#fff', … } of the current theme.
export function themeColours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

// A button that switches; `onChange` is called when the theme is another.
export function themeSwitch(onChange = () => {}) {
  const text = () => (currentTheme() === 'dark' ? 'Light' : 'Dark');
  const show = () => {
    made.textContent = text();
    onChange();
  };
  const made = button(
    text(),
    () => {
      document.documentElement.dataset.theme = currentTheme() === 'dark' ? 'light' : 'dark';
      show();
    },
    { title: 'Dark or light colours', 'data-control': 'theme' },
  );
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  return made;
}
