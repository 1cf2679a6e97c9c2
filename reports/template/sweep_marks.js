// Marks of a picture that stand for points. The pointer finds the nearest one, keys walk from one to
// the next; either says what it is below the picture, and a click or Enter opens its point.
//
//   mark {node, point, text, distance(x, y)}   in px of the picture, which is drawn at its own size

import { element } from './dom.js';
import { svg } from './sweep_parts.js';

const REACH = 14; // px
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };

function nearest(marks, x, y) {
  let best = -1;
  let least = REACH;
  marks.forEach((mark, i) => {
    const distance = mark.distance(x, y);
    if (distance > least) return;
    best = i;
    least = distance;
  });
  return best;
}

// The picture with its marks made so; `marks` in the order of walking.
export function walkable(image, marks, choose) {
  const said = element('p', { class: 'live', role: 'status' }, '');
  const pointer = svg('g', { class: 'at' });
  image.append(pointer);
  image.setAttribute('tabindex', '0');
  image.setAttribute('role', 'application');
  let at = -1;
  const pointAt = (index) => {
    at = index;
    pointer.replaceChildren(...(at < 0 ? [] : [marks[at].node.cloneNode()]));
    said.textContent = at < 0 ? '' : marks[at].text;
  };
  const under = (event) => {
    const box = image.getBoundingClientRect();
    return nearest(marks, event.clientX - box.left, event.clientY - box.top);
  };
  const walk = (index) => {
    pointAt(Math.min(Math.max(index, 0), marks.length - 1));
    pointer.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  image.addEventListener('pointermove', (event) => pointAt(under(event)));
  image.addEventListener('click', (event) => {
    pointAt(under(event));
    if (at >= 0) choose(marks[at].point);
  });
  image.addEventListener('keydown', (event) => {
    if (event.key in STEPS) walk(at + STEPS[event.key]);
    else if (event.key === 'Home') walk(0);
    else if (event.key === 'End') walk(marks.length - 1);
    else if (event.key === 'Enter' && at >= 0) choose(marks[at].point);
    else if (event.key === 'Escape') pointAt(-1);
    else return;
    event.preventDefault();
  });
  return [element('div', { class: 'scroll' }, image), said];
}
