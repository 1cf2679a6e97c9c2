// Rectangles of a frame by colour and strength: a canvas is fast where the fill style stays.

const STRENGTHS = [0.4, 0.6, 0.8, 1];
export const FULL = STRENGTHS.length - 1;
const FAINT_SHARE = 0.22;

export class Batches {
  #byKey = new Map();

  // `strength`: index of STRENGTHS.
  add(ink, strength, x, y, width, height) {
    const key = ink * STRENGTHS.length + strength;
    let list = this.#byKey.get(key);
    if (list === undefined) this.#byKey.set(key, (list = []));
    list.push(x, y, width, height);
  }

  // What is faint first, the rest over it.
  flush(ctx, colours) {
    for (const key of [...this.#byKey.keys()].sort((a, b) => a - b)) {
      const ink = Math.floor(key / STRENGTHS.length);
      const strength = STRENGTHS[key % STRENGTHS.length];
      ctx.fillStyle = colours[ink];
      ctx.globalAlpha = ink === 0 ? strength * FAINT_SHARE : strength;
      const list = this.#byKey.get(key);
      for (let i = 0; i < list.length; i += 4) {
        ctx.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
      }
    }
    ctx.globalAlpha = 1;
    this.#byKey.clear();
  }
}

export function strengthOf(share) {
  return share >= 0.75 ? 3 : share >= 0.45 ? 2 : share >= 0.2 ? 1 : 0;
}
