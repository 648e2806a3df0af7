// Geometry of a histogram whose bins may have unequal widths. If the bins grow by a factor (as bins of
// durations do), all bars are equally wide, so that the short bins are visible.

export interface Bin {
  from: number;
  to: number;
  count: number;
}
export interface Bar extends Bin {
  x: number;
  width: number;
  height: number; // 0 to 1
}

/** Bars over a width of `room` pixels. With `log`, heights follow the logarithm of the count. */
export function bars(bins: readonly Bin[], room: number, log = false): Bar[] {
  const most = Math.max(...bins.map((b) => b.count), 0);
  const each = room / Math.max(bins.length, 1);
  return bins.map((b, i) => ({
    ...b,
    x: i * each,
    width: Math.max(each - (each > 4 ? 1 : 0), 0.5),
    height: b.count <= 0 || most <= 0 ? 0 : log ? Math.log1p(b.count) / Math.log1p(most) : b.count / most,
  }));
}

/** The edges of bins that get a number: about one every `gap` pixels, always the first, and the last if there
 * is room. */
export function edges(bins: readonly Bin[], room: number, gap = 80): { at: number; value: number }[] {
  if (bins.length === 0) return [];
  const each = room / bins.length;
  const step = Math.max(1, Math.ceil(gap / each));
  const out: { at: number; value: number }[] = [];
  for (let i = 0; i < bins.length; i += step) out.push({ at: i * each, value: bins[i].from });
  if (room - out[out.length - 1].at >= gap * 0.7) out.push({ at: room, value: bins[bins.length - 1].to });
  return out;
}
