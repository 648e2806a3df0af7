// Moves the cursor: playback, forward and backward, and single steps.

import { untrack } from "svelte";
import type { EventPage } from "../api";
import { reveal } from "./axis";
import { get, runPath } from "./client";
import { common } from "./i18n";
import { current } from "./run.svelte";
import { app, type Interval } from "./state.svelte";
import { text } from "./text";
import { toast } from "./toast.svelte";

/** Where playback is after so many nanoseconds of the run, in an interval. In a loop it goes on from the
 * other end, also where a frame takes longer than the interval lasts; else it stops there. */
export function after(t: number, ns: number, [from, to]: Interval, loop: boolean): { t: number;
  stops: boolean } {
  const next = t + ns;
  if (ns > 0 ? next < to : next > from || ns === 0) return { t: next, stops: false };
  if (!loop) return { t: ns > 0 ? to : from, stops: true };
  const over = (ns > 0 ? next - to : from - next) % Math.max(to - from, 1);
  return { t: ns > 0 ? from + over : to - over, stops: false };
}

/** Whether the selected interval, or the run, is played again and again. */
export const loops = (): boolean => app.filters["play.loop"] === "1";

/** What is played: the selected interval in a loop, else the whole run. */
const played = (): Interval => (loops() ? app.interval : [0, app.end]);

/** Call it once, while the page is created. */
export function play(): void {
  $effect(() => {
    if (!app.playing) return;
    const way = app.backward ? -1 : 1;
    return untrack(() => go(way));
  });
}

// Moves the cursor forward (1) or backward (-1), frame by frame, until what it returns is called.
function go(way: 1 | -1): () => void {
  let frame = 0;
  let last = performance.now();
  const [from, to] = played();
  const first = way > 0 ? from : to;
  let t = app.now === null || app.now < from || app.now > to || app.now === (way > 0 ? to : from) ? first
    : app.now;
  let own: number | null = app.now;
  const step = (now: number) => {
    if (app.now !== own && app.now !== null) t = app.now; // the user has moved it
    const next = after(t, Math.max(now - last, 0) * 1e6 * app.speed * way, played(), loops());
    t = next.t;
    last = now;
    own = Math.round(t);
    show(own);
    if (next.stops) app.set({ playing: false });
    else frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
}

function show(t: number): void {
  app.set({ t, ...(app.vis ? { vis: reveal(app.vis, t, app.end) } : {}) });
}

export function toggle(backward = false): void {
  if (app.playing && app.backward === backward) return app.set({ playing: false });
  // Unless the user has chosen otherwise, the matrix and other sums follow.
  const filters = { "play.sums": "1", ...app.filters };
  app.set({ playing: true, backward, filters }, "replace");
}

/** What a step goes to: the next moment at which something was recorded, or a CF started. */
export const kinds = { event: "", cf: "CFEvents.onStarted" } as const;

type Source = (q: { from: number; to: number; offset: number }) => Promise<Pick<EventPage, "total" |
  "scanned"> & { rows: readonly { t: number }[] }>;

/** The nearest event after (1) or before (-1) a time, or null. It looks at ever wider intervals, so that few
 * events need to be looked at. */
export async function nearest(source: Source, t: number, way: 1 | -1, end: number,
  width: number): Promise<number | null> {
  const wait = () => new Promise((go) => setTimeout(go, 50));
  for (let w = Math.max(Math.round(width), 1); ; w *= 8) {
    const from = way > 0 ? t + 1 : Math.max(t - w, 0);
    const to = way > 0 ? Math.min(t + w, end) : t - 1;
    if (from > to) return null;
    let offset = 0;
    for (;;) {
      const got = await source({ from, to, offset });
      if (got.scanned < 1) {
        await wait();
        continue;
      }
      if (got.total === 0) break;
      if (way > 0 || offset === got.total - 1) return got.rows[0].t;
      offset = got.total - 1;
    }
    if (way > 0 ? to >= end : from <= 0) return null;
  }
}

let stepping: AbortController | undefined;

/** Moves the cursor to the next (1) or previous (-1) event or start of a CF. */
export async function step(to: keyof typeof kinds, way: 1 | -1): Promise<void> {
  stepping?.abort();
  const own = (stepping = new AbortController());
  app.set({ playing: false });
  // Ten events or so, if they were spread evenly.
  const width = (10 * app.end) / Math.max(current.update?.events ?? current.run?.events ?? 1, 1);
  try {
    const t = await nearest((q) => get<EventPage>(runPath("events"), { ...q, kinds: kinds[to], limit: 1 },
      own.signal), app.now ?? (way > 0 ? -1 : app.end + 1), way, app.end, width);
    if (own.signal.aborted) return;
    if (t === null) toast(way > 0 ? text.noneAfter : text.noneBefore);
    else show(t);
  } catch (e) {
    if (!own.signal.aborted) toast((e as Error).message || common.unreachable);
  }
}
