// Who waits for whom, both ways: lists of arrows by slice, made when they are first asked for.

// [keys + 1] starts and the rows in the order of their keys: a counting sort.
function groupRows(keyOfRow, keys) {
  const first = new Uint32Array(keys + 1);
  for (const key of keyOfRow) ++first[key + 1];
  for (let key = 0; key < keys; ++key) first[key + 1] += first[key];
  const next = first.slice();
  const rows = new Uint32Array(keyOfRow.length);
  for (let row = 0; row < keyOfRow.length; ++row) rows[next[keyOfRow[row]]++] = row;
  return { first, rows };
}

export class Dependencies {
  #arrows;
  #slices;
  #incoming;
  #outgoing;

  constructor(arrows, slices) {
    this.#arrows = arrows;
    this.#slices = slices;
  }

  get count() {
    return this.#arrows.count;
  }

  // Slices that `slice` waits for.
  into(slice) {
    this.#incoming ??= groupRows(this.#arrows.to, this.#slices);
    return this.#ends(this.#incoming, slice, this.#arrows.from);
  }

  // Slices that wait for `slice`.
  outOf(slice) {
    this.#outgoing ??= groupRows(this.#arrows.from, this.#slices);
    return this.#ends(this.#outgoing, slice, this.#arrows.to);
  }

  #ends({ first, rows }, slice, column) {
    return Array.from(rows.subarray(first[slice], first[slice + 1]), (row) => column[row]);
  }
}
