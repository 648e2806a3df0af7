import type { Cell } from "./rows";

/** A column of a Table. */
export interface Column<R> {
  key: string;
  title: string;
  value: (r: R) => Cell; // for sorting and saving
  text?: (r: R) => string; // on the screen
  unit?: string; // of value, for the head of the saved table: "ns", "bytes"
  number?: boolean; // right-aligned; the first click puts the greatest first
  wide?: boolean; // takes the remaining width
  width?: number; // px
  tip?: string;
  hidden?: boolean; // saved, but not shown: there is no room
  href?: (r: R) => string | undefined;
  bar?: (r: R) => number; // 0..1: a bar behind the text
  color?: (r: R) => string | undefined; // a swatch before the text
  letter?: (r: R) => string | undefined; // in the swatch, for those who cannot tell colours apart
  class?: (r: R) => string;
}
