// Texts inside of what is drawn, cut to the room there is.

const MOST_PER_FRAME = 700;
const PADDING = 4;  // px on either side

export class Labels {
  #widths = new Map();
  #ruler = document.createElement('canvas').getContext('2d');
  #list = [];

  constructor(font) {
    this.#ruler.font = font;
  }

  // Whether the whole of `text` fits into `room` px.
  fits(text, room, padding = PADDING) {
    return this.#widthOf(text) + 2 * padding <= room;
  }

  // { text, colour, x, y (of the middle), width, isCentred, padding }
  add(label) {
    if (this.#list.length < MOST_PER_FRAME) this.#list.push({ padding: PADDING, ...label });
  }

  flush(ctx) {
    let colour = '';
    for (const label of this.#list) {
      const text = this.#cut(label.text, label.width - 2 * label.padding);
      if (text === '') continue;
      if (label.colour !== colour) ctx.fillStyle = colour = label.colour;
      const free = label.width - this.#widthOf(text);
      ctx.fillText(text, label.x + (label.isCentred ? free / 2 : label.padding), label.y);
    }
    this.#list.length = 0;
  }

  #widthOf(text) {
    let width = this.#widths.get(text);
    if (width === undefined) {
      if (this.#widths.size > 20000) this.#widths.clear();
      this.#widths.set(text, (width = this.#ruler.measureText(text).width));
    }
    return width;
  }

  #cut(text, room) {
    const width = this.#widthOf(text);
    if (width <= room) return text;
    const letters = Math.floor((text.length * room) / width) - 1;
    return letters < 2 ? '' : `${text.slice(0, letters)}…`;
  }
}
