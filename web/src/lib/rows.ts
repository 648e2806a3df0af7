// Arithmetic and order of long lists.

/** The greatest height of a scrolled area, in px. */
export const most = 8_000_000;

/** The row at the top when the scroll bar of a scaled list is at `top` of `range`. */
export function place(top: number, range: number, greatest: number): number {
  if (!(range > 0)) return 0;
  return Math.min(Math.max(top / range, 0), 1) * greatest;
}

export type Cell = number | string | null | undefined;

/** Compares as people expect: numbers by value, names with numbers in them naturally ("x[2]" before "x[10]"),
 * missing values last. */
export function compare(a: Cell, b: Cell): number {
  const none = (v: Cell) => v === null || v === undefined || (typeof v === "number" && Number.isNaN(v));
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

const collator = new Intl.Collator("en", { numeric: true });

/** Rows sorted by a column; "-" before the key: greatest first. Missing values stay last. Equal rows keep
 * their order. */
export function sorted<R>(rows: readonly R[], value: (r: R) => Cell, down: boolean): R[] {
  const cells = rows.map((r, i) => ({ r, i, v: value(r) }));
  const none = (v: Cell) => v === null || v === undefined;
  cells.sort((a, b) => {
    const c = compare(a.v, b.v);
    return (down && !none(a.v) && !none(b.v) ? -c : c) || a.i - b.i;
  });
  return cells.map((c) => c.r);
}
