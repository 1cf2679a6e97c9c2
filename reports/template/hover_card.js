// The card beside the pointer. It never leaves the window and lets the pointer through.

import { describe } from './describe.js';
import { element, termList } from './dom.js';

const DISTANCE = 14;  // px

export class HoverCard {
  constructor() {
    this.element = element('div', { class: 'card', hidden: true });
  }

  // `place`: in the surface of the chart.
  show(target, place) {
    const { title, lines } = describe(target);
    this.element.replaceChildren(element('strong', {}, title), termList(lines));
    this.element.hidden = false;
    const surface = document.querySelector('.surface').getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const page = document.documentElement;
    const x = surface.left + place.x + DISTANCE;
    const y = surface.top + place.y + DISTANCE;
    const left = Math.max(4, Math.min(x, page.clientWidth - width - 4));
    const top = y + height < page.clientHeight ? y : surface.top + place.y - height - DISTANCE;
    this.element.style.transform = `translate(${left}px, ${Math.max(4, top)}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}
