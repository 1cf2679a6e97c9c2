// Texts inside of what is drawn, cut to the room there is.

const FAMILY = 'system-ui, "DejaVu Sans", sans-serif';
export const FONT = `12px ${FAMILY}`;
export const BOLD = `600 ${FONT}`;
const DIGITS = [FONT, `10px ${FAMILY}`, `8px ${FAMILY}`];  // of cells: the largest that fits

const MOST_PER_FRAME = 2500;
const MOST_WIDTHS = 20000;
const PADDING = 4;   // px on either side
const TIGHT = -0.5;  // of digits, which may reach into the space between cells

export class Labels {
  #widths = new Map();  // by font, then text
  #ruler = document.createElement('canvas').getContext('2d');
  #list = [];

  // Whether the whole of `text` fits into `room` px.
  fits(text, room) {
    return this.#widthOf(text, FONT) + 2 * PADDING <= room;
  }

  // { text, colour, x, y (of the middle), width, isCentred, font, padding }
  add(label) {
    if (this.#list.length < MOST_PER_FRAME) {
      this.#list.push({ padding: PADDING, font: FONT, ...label });
    }
  }

  // The number of a cell, whole and as large as it fits, or not at all.
  addDigits(label) {
    const font = DIGITS.find((one) => this.#widthOf(label.text, one) + 2 * TIGHT <= label.width);
    if (font !== undefined) this.add({ ...label, font, padding: TIGHT, isCentred: true });
  }

  flush(ctx) {
    let colour = '';
    let font = '';
    for (const label of this.#list) {
      const text = this.#cut(label);
      if (text === '') continue;
      if (label.colour !== colour) ctx.fillStyle = colour = label.colour;
      if (label.font !== font) ctx.font = font = label.font;
      const free = label.width - this.#widthOf(text, font);
      ctx.fillText(text, label.x + (label.isCentred ? free / 2 : label.padding), label.y);
    }
    ctx.font = FONT;
    this.#list.length = 0;
  }

  #widthOf(text, font) {
    let widths = this.#widths.get(font);
    if (widths === undefined || widths.size > MOST_WIDTHS) {
      this.#widths.set(font, (widths = new Map()));
    }
    let width = widths.get(text);
    if (width === undefined) {
      this.#ruler.font = font;
      widths.set(text, (width = this.#ruler.measureText(text).width));
    }
    return width;
  }

  #cut({ text, font, width, padding }) {
    const room = width - 2 * padding;
    const whole = this.#widthOf(text, font);
    if (whole <= room) return text;
    const letters = Math.floor((text.length * room) / whole) - 1;
    return letters < 2 ? '' : `${text.slice(0, letters)}…`;
  }
}
