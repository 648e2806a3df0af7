// Draws the factors of a run over the shared axis, as stacked areas in steps, on a canvas and into an SVG.

import type { FactorWindows } from "../api";
import type { Draw } from "../lib/svg";
import { stack } from "./tile";

export interface AreaLook {
  width: number;
  height: number;
  grain: number; // size of a device pixel: edges lie on pixels, or seams would show
  share: number; // of the width that the run takes; the rest is beyond its end
  full: number; // time that the full height stands for, per window
  colors: string[]; // by row
  back: string;
  rule: string;
}

/** Draws the areas from the bottom up. */
export function areas(pen: Draw, f: FactorWindows, look: AreaLook): void {
  pen.fillStyle = look.back;
  pen.fillRect(0, 0, look.width, look.height);
  const each = (look.width * look.share) / Math.max(f.windows, 1);
  stack(f.total, look.full).forEach(({ low, high }, row) => {
    pen.fillStyle = look.colors[row];
    for (let i = 0; i < high.length; ) {
      // Adjacent windows of equal height become one rectangle, which keeps an SVG small.
      let j = i + 1;
      while (j < high.length && high[j] === high[i] && low[j] === low[i]) j++;
      const a = Math.round((i * each) / look.grain) * look.grain;
      const b = Math.round((j * each) / look.grain) * look.grain;
      if (high[i] > low[i]) pen.fillRect(a, look.height * (1 - high[i]), b - a,
        look.height * (high[i] - low[i]));
      i = j;
    }
  });
  const end = look.width * look.share;
  if (look.share < 1) {
    pen.fillStyle = look.rule;
    pen.fillRect(end, 0, 1, look.height);
  }
}
