// The stretch of time that is shown, moved by wheel, drag, pinch and calls.

import { event, select } from 'd3-selection';
import { zoom, zoomIdentity } from 'd3-zoom';

const DEEPEST = 1e8;  // times the whole span

export class Viewport {
  #surface;
  #zoom;
  #onChange;
  #left = 0;
  #right = 1;

  // `span_s`: from 0 to the end of the longest run. `onChange(sourceEvent)` follows every movement.
  constructor(surface, span_s, onChange) {
    this.span_s = span_s;
    this.#onChange = onChange;
    this.#surface = select(surface);
    this.#zoom = zoom()
      .scaleExtent([1, DEEPEST])
      .touchable(true)
      .clickDistance(4)
      .filter(() => this.#wants(event))
      .on('zoom', () => this.#onChange(event.sourceEvent));
    this.#surface.call(this.#zoom).on('dblclick.zoom', null);
    surface.addEventListener('wheel', (wheel) => this.#panByWheel(wheel), { passive: false });
  }

  // Pixels of the time axis. The stretch that is shown stays.
  resize(left, right) {
    const { from_s, to_s } = this;
    this.#left = left;
    this.#right = Math.max(right, left + 1);
    this.#zoom
      .extent([[left, 0], [this.#right, 1]])
      .translateExtent([[left, -Infinity], [this.#right, Infinity]]);
    this.show(from_s, to_s);
  }

  get #transform() {
    return this.#surface.node().__zoom ?? zoomIdentity;
  }

  get left() {
    return this.#left;
  }
  get right() {
    return this.#right;
  }
  get pxPerSecond() {
    return (this.#transform.k * (this.#right - this.#left)) / this.span_s;
  }
  get from_s() {
    return (this.#transform.invertX(this.#left) - this.#left) * this.#secondsPerBasePixel();
  }
  get to_s() {
    return (this.#transform.invertX(this.#right) - this.#left) * this.#secondsPerBasePixel();
  }
  get isFitted() {
    return this.#transform.k === 1;
  }

  // The stretch in ticks of a run, and pixels per tick.
  inTicks(tick_s) {
    return {
      from: this.from_s / tick_s,
      to: this.to_s / tick_s,
      scale: this.pxPerSecond * tick_s,
    };
  }

  xOf(time_s) {
    return this.#left + (time_s - this.from_s) * this.pxPerSecond;
  }
  timeAt(x) {
    return this.from_s + (x - this.#left) / this.pxPerSecond;
  }

  fit() {
    this.#surface.call(this.#zoom.transform, zoomIdentity);
  }

  zoomBy(factor) {
    const k = Math.min(DEEPEST, Math.max(1, this.#transform.k * factor));
    const middle = (this.from_s + this.to_s) / 2;
    const half = this.span_s / k / 2;
    this.show(middle - half, middle + half);
  }

  panBy(pixels) {
    this.#surface.call(this.#zoom.translateBy, pixels / this.#transform.k, 0);
  }

  show(from_s, to_s) {
    const most = this.span_s;
    const width = Math.min(Math.max(to_s - from_s, most / DEEPEST), most);
    const from = Math.min(Math.max(0, from_s), most - width);
    const k = most / width;
    const x = this.#left - k * (this.#left + from / this.#secondsPerBasePixel());
    this.#surface.call(this.#zoom.transform, zoomIdentity.translate(x, 0).scale(k));
  }

  #secondsPerBasePixel() {
    return this.span_s / (this.#right - this.#left);
  }

  // Shift, or a sideways wheel, pans; left of the axis the wheel scrolls the rows.
  #wants(event) {
    if (event.button) return false;
    if (event.type !== 'wheel') return true;
    return !isSideways(event) && event.offsetX >= this.#left;
  }

  #panByWheel(wheel) {
    if (!isSideways(wheel)) return;
    wheel.preventDefault();
    this.panBy(-(Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY) ? wheel.deltaX : wheel.deltaY));
  }
}

function isSideways(wheel) {
  return wheel.shiftKey || Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY);
}
