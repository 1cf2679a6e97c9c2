// Points that a filter leaves: `tp=8 mfu>=0.4 status!=ok words`.

import { cellText, valueOf } from './sweep_model.js';

export const FILTER_HELP =
  'Words that must all be found in a row. A column is compared with =, !=, <, <=, > or >=; ' +
  'numbers are in seconds, bytes and shares, as the database has them.';

const ORDERS = {
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
};
const RULE = /^([^<>=!]+)(<=|>=|!=|=|<|>)(.+)$/;

const textsOf = (column, value) => [String(value), cellText(column, value)].map((text) => text.toLowerCase());

function ruleOf(sweep, word) {
  const [, name, sign, wanted] = RULE.exec(word) ?? [];
  const column = sweep.columns.find((one) => [one.key, one.label].some((n) => n.toLowerCase() === name));
  if (!column) return (point) => rowText(sweep, point).includes(word);
  if (sign in ORDERS) {
    const bound = Number(wanted);
    return (point) => {
      const value = valueOf(point, column);
      return typeof value === 'number' && ORDERS[sign](value, bound);
    };
  }
  return (point) => {
    const value = valueOf(point, column);
    return (value !== null && textsOf(column, value).includes(wanted)) === (sign === '=');
  };
}

function rowText(sweep, point) {
  point.text ??= sweep.columns
    .map((column) => cellText(column, valueOf(point, column)).toLowerCase())
    .join('\n');
  return point.text;
}

export function matching(sweep, text) {
  const rules = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => ruleOf(sweep, word));
  return sweep.points.filter((point) => rules.every((holds) => holds(point)));
}
