// Elements made in one expression: element('button', { type: 'button', onClick: f }, 'Fit').
// Texts become text nodes, so that names from a model are never read as HTML.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      made.addEventListener(name.slice(2).toLowerCase(), value);
    } else if (value === true) {
      made.setAttribute(name, '');
    } else if (value !== false && value !== undefined) {
      made.setAttribute(name, value);
    }
  }
  made.append(...children);
  return made;
}

export const button = (text, onClick, attributes = {}) =>
  element('button', { type: 'button', onClick, ...attributes }, text);

// A list of [term, text] pairs.
export function termList(pairs) {
  const list = element('dl');
  for (const [term, text] of pairs) list.append(element('dt', {}, term), element('dd', {}, text));
  return list;
}
