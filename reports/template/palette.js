// Colours by what a slice does. They differ from each other for protan, deutan and tritan eyes too
// (tests/browser/palette.py measures it), and white digits are readable on forward and backward.

const KINDS = {
  forward: '#136fec',
  backward: '#ad570c',
  'backward input': '#016573',
  'backward weight': '#36521f',
  recomputation: '#cda24a',
  optimizer: '#f0d32c',
  'forward+backward': '#4b1ade',
  'all-gather': '#8626a6',
  'reduce-scatter': '#f772cb',
  'all-reduce': '#cc334d',
  'all-to-all': '#c38bfc',
  'pipeline transfer': '#86888a',
};
const GROUPS = { compute: '#136fec', communication: '#8626a6', transfer: '#86888a' };
const OTHER = '#cbcccd';

// Letters of the cells of a pipeline schedule.
export const CODES = {
  F: { text: 'forward', colour: KINDS.forward },
  B: { text: 'backward', colour: KINDS.backward },
  I: { text: 'backward, input', colour: KINDS['backward input'] },
  W: { text: 'backward, weight', colour: KINDS['backward weight'] },
  O: { text: 'optimizer', colour: KINDS.optimizer },
};

// Okabe and Ito's; micro-batches take them in turn.
export const MICROBATCH_COLOURS = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#f0e442',
];
export const NEUTRAL = '#86888a';

const MEMORY_COLOURS = {
  weights: '#136fec',
  gradients: '#ad570c',
  optimizer: '#f0d32c',
  gathered: '#8626a6',
  activations: '#018a73',
  logits: '#f772cb',
};

export function kindColour({ name, group }) {
  if (name in KINDS) return KINDS[name];
  if (name === 'phase') return OTHER;
  return GROUPS[group] ?? OTHER;
}

export const codeColour = (code) => CODES[code]?.colour ?? OTHER;
export const memoryColour = (kind) => MEMORY_COLOURS[kind] ?? OTHER;
export const microbatchColour = (microbatch) =>
  MICROBATCH_COLOURS[microbatch % MICROBATCH_COLOURS.length];

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// Of a later chunk: 60 % of the way to white.
export function lighter(colour) {
  const mixed = channels(colour).map((c) => Math.round(c + (255 - c) * 0.6));
  return `#${mixed.map((c) => c.toString(16).padStart(2, '0')).join('')}`;
}

// Relative luminance of WCAG 2.
function luminance(colour) {
  const [r, g, b] = channels(colour).map((c) => {
    const share = c / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// White where it reaches a contrast of 4.5, black elsewhere: one of the two always does.
export const textOn = (colour) =>
  1.05 / (luminance(colour) + 0.05) >= 4.5 ? '#ffffff' : '#000000';
