// Two sliders for a part of a run: where it starts and how long it is. The length is on a logarithmic
// scale, because what is worth looking at may last a millionth of the run.

import type { Interval } from "../lib/url";
import { shortest } from "../lib/axis";

/** Steps of a slider. */
export const steps = 1000;

/** Places of the two sliders, 0 to `steps`, for an interval of a run that lasts `end`. */
export function places([from, to]: Interval, end: number): { start: number; length: number } {
  const room = end - (to - from);
  const least = Math.min(shortest, end);
  const span = Math.log(end / least);
  const share = span > 0 ? Math.log(Math.min(Math.max(to - from, least), end) / least) / span : 1;
  return { start: room > 0 ? Math.round((from / room) * steps) : 0, length: Math.round(share * steps) };
}

/** The interval after the start's slider was moved: as long as before. */
export function moved([from, to]: Interval, start: number, end: number): Interval {
  const length = to - from;
  const a = Math.round(((end - length) * start) / steps);
  return [Math.max(0, a), Math.max(0, a) + length];
}

/** The interval after the length's slider was moved: its start stays where that is possible. */
export function stretched([from]: Interval, length: number, end: number): Interval {
  const least = Math.min(shortest, end);
  const width = Math.round(least * (end / least) ** (length / steps));
  const a = Math.max(0, Math.min(from, end - width));
  return [a, a + width];
}
