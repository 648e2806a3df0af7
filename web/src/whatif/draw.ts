// Pictures of runs: lanes of workers, and the load of nodes. Both runs share one time axis.

import type { Draw } from "../lib/svg";

export interface Look {
  width: number; // px
  row: number; // height of a row
  left: number; // where the picture begins, px; it may be out of sight
  long: number; // px that it takes
  back: string;
  color: (row: number, column: number) => string | null; // null: none
}

/** Draws rows of columns, those of one color beside each other as one rectangle. */
export function rows(pen: Draw, values: readonly (readonly number[])[], look: Look): void {
  pen.fillStyle = look.back;
  pen.fillRect(0, 0, look.width, look.row * values.length);
  values.forEach((row, i) => {
    const each = look.long / Math.max(row.length, 1);
    const gap = look.row > 5 ? 1 : 0;
    for (let a = 0; a < row.length; ) {
      const color = look.color(i, a);
      let b = a + 1;
      while (b < row.length && look.color(i, b) === color) b++;
      if (color) {
        const x = Math.max(look.left + a * each, 0);
        pen.fillStyle = color;
        pen.fillRect(x, i * look.row, Math.min(look.left + b * each, look.width) - x, look.row - gap);
      }
      a = b;
    }
  });
}
