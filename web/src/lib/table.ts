import type { Cell } from "./rows";

/** A column of a Table. */
export interface Column<R> {
  key: string;
  title: string;
  value: (r: R) => Cell; // what is sorted by and saved
  text?: (r: R) => string; // what is shown
  unit?: string; // of value, for the head of the saved table: "ns", "bytes"
  number?: boolean; // right-aligned; the first click sorts greatest first
  wide?: boolean; // takes the room that is left
  width?: number; // px
  tip?: string;
  hidden?: boolean; // saved, but not shown: there is no room
  href?: (r: R) => string | undefined;
  bar?: (r: R) => number; // 0..1: a bar behind the text
  color?: (r: R) => string | undefined; // a swatch before the text
  class?: (r: R) => string;
}
