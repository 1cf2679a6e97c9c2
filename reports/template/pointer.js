// Hovering, clicking and tapping; wheel, drag and pinch are the viewport's.

import { describe } from './describe.js';
import { targetAt } from './targets.js';

export function listenToPointer(app) {
  const { surface } = app.chart;
  const place = (event) => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const find = ({ x, y }) => targetAt(app.chart, x, y);

  surface.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'touch' || event.buttons !== 0) return;
    const at = place(event);
    app.hover(find(at), at);
  });
  surface.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch') app.hover(null);
  });
  surface.addEventListener('click', (event) => {
    const at = place(event);
    const target = find(at);
    app.hover(target, at);
    app.select(target);
    app.say(target === null ? 'nothing selected' : `selected ${describe(target).title}`);
  });
  surface.addEventListener('dblclick', (event) => {
    const target = find(place(event));
    if (target !== null) app.zoomTo(target);
  });
}
