// How light a colour is (WCAG 2.1, relative luminance): ink on it is black above 0.18, white below.

import { rgb } from 'd3-color';

const linear = (byte) => {
  const share = byte / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};

export function lightness(colour) {
  const { r, g, b } = rgb(colour);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}
