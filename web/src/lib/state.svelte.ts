// The state of all views, which is also the address. Views read and set it here and keep no copies.

import type { State } from "../api";
import { clampInterval } from "./axis";
import { format, parse, type Interval, type Place } from "./url";

export type { Interval, Pick, ViewName } from "./url";

/** The part that can be changed. */
export type Change = Partial<Omit<Place, "filters"> & { filters: Record<string, string>;
  playing: boolean; backward: boolean }>;

const inBrowser = typeof window !== "undefined";
const remembered = (name: string) => (inBrowser ? localStorage.getItem(`whyslow.${name}`) : null);
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

type View = { vis: Interval | null; sel: Interval | null };

class App {
  #place = $state.raw<Place>(parse(inBrowser ? location.search : ""));
  #lang = $state<"en" | "ru">("en");
  #theme = $state<"light" | "dark" | "auto">("auto");
  #systemDark = $state(false);
  #pending: ReturnType<typeof setTimeout> | undefined;

  /** How long the run is so far, and whether it is still going on. */
  #end = $state(1);
  #live = $state(false);
  #died = $state(false); // it ended without being done
  #known = $state(0); // up to here single CFs are known
  #grown = 0; // when the end last moved, ms
  #playing = $state(false);
  #backward = $state(false);
  // Intervals that were shown and selected before, and those that were left by going back.
  #before: View[] = [];
  #after: View[] = [];
  #moved = 0; // when either last changed, ms

  readonly run = $derived(this.#place.run);
  readonly view = $derived(this.#place.view);
  readonly t = $derived(this.#place.t);
  readonly sel = $derived(this.#place.sel);
  readonly pick = $derived(this.#place.pick);
  readonly filters = $derived(this.#place.filters);
  readonly follow = $derived(this.#place.follow);
  readonly lang = $derived(this.#place.lang || this.#lang);
  readonly theme = $derived(this.#place.theme || this.#theme);
  readonly dark = $derived(this.theme === "auto" ? this.#systemDark : this.theme === "dark");
  readonly end = $derived(this.#end);
  readonly playing = $derived(this.#playing);
  readonly backward = $derived(this.#backward);

  /** Nanoseconds of the run per nanosecond of the user. By default the run takes some twenty seconds. */
  readonly speed = $derived(this.#place.speed || defaultSpeed(this.#end));

  /** The visible interval, unless it is the whole run. While following, it ends at the live edge; in the
   * timeline, at the end of what can be shown. */
  readonly vis: Interval | null = $derived.by(() => {
    const vis = this.#place.vis;
    if (!vis) return null;
    if (!this.#live || !this.#place.follow) return vis;
    const edge = this.#edge(this.#place);
    return clampInterval([edge - (vis[1] - vis[0]), edge], this.#end);
  });

  /** The cursor's time. If nobody has set it: the live edge of a live run, the death of a run that died, and
   * null for a run that is done. */
  readonly now: number | null = $derived.by(() => {
    const t = this.#place.t ?? (this.#live || this.#died ? this.#end : null);
    return t === null ? null : Math.min(t, this.#end);
  });

  #interval: Interval = $derived(this.#place.sel ?? [0, this.#end]);
  #visible: Interval = $derived(this.vis ?? [0, this.#end]);
  #sums: Interval = $derived.by(() => {
    const [from, to] = this.#interval;
    return this.toCursor ? [from, Math.max(from + 1, Math.min(this.now!, to))] : [from, to];
  });

  /** Whether sums are those up to the cursor, as they are while a run is played. */
  get toCursor(): boolean {
    return this.filters["play.sums"] === "1" && this.now !== null;
  }
  /** The interval of sums that follow the cursor. */
  get sums(): Interval {
    return this.#sums;
  }

  /** The interval of tables and sums: the selected interval or the whole run. */
  get interval(): Interval {
    return this.#interval;
  }
  /** The x axis of every plot. */
  get visible(): Interval {
    return this.#visible;
  }

  constructor() {
    if (!inBrowser) return;
    const lang = remembered("lang");
    this.#lang = lang === "ru" || lang === "en" ? lang : navigator.language.startsWith("ru") ? "ru" : "en";
    const theme = remembered("theme");
    if (theme === "light" || theme === "dark") this.#theme = theme;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.#systemDark = dark.matches;
    dark.addEventListener("change", () => (this.#systemDark = dark.matches));
    addEventListener("popstate", () => {
      clearTimeout(this.#pending);
      this.#pending = undefined;
      this.#playing = false;
      this.#place = parse(location.search);
    });
    // Links within the page change the state and load nothing.
    document.addEventListener("click", (e) => {
      const a = (e.target as Element).closest?.("a[href^='?']");
      if (!a || e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey ||
        a.hasAttribute("download")) return;
      e.preventDefault();
      this.#apply(parse(a.getAttribute("href")!), "push");
    });
  }

  /** Changes the state. Moves of the cursor and of the visible interval replace the address; everything else
   * is a step in the history. */
  set(change: Change, history?: "push" | "replace"): void {
    const { playing, backward, ...rest } = change;
    if (backward !== undefined) this.#backward = backward;
    if (playing !== undefined) {
      this.#playing = playing;
      if (playing && this.#place.follow) this.#apply({ ...this.#place, vis: this.vis, follow: false },
        "replace");
    }
    const keys = Object.keys(rest);
    if (keys.length === 0) return;
    if (rest.lang && inBrowser) localStorage.setItem("whyslow.lang", rest.lang);
    if (rest.theme && inBrowser) localStorage.setItem("whyslow.theme", rest.theme);
    const moves = keys.every((k) => k === "t" || k === "vis" || k === "speed" || k === "lang" ||
      k === "theme" || k === "follow");
    this.#apply(this.#changed(rest), history ?? (moves ? "replace" : "push"));
  }

  /** Sets a filter, or removes it with null. */
  filter(name: string, value: string | null): void {
    const filters = { ...this.#place.filters };
    if (value) filters[name] = value;
    else delete filters[name];
    if (!same(filters, this.#place.filters)) this.#apply({ ...this.#place, filters }, "push");
  }

  /** The address of this state with a change. */
  href(change: Omit<Change, "playing" | "backward">): string {
    return format(this.#changed(change)) || "?";
  }

  /** Zooms to an interval; by default to the selected one, or to the whole run. */
  fit(interval?: Interval): void {
    const to = interval ?? this.#place.sel;
    if (!to || (!interval && same(this.vis, to))) this.set({ vis: null });
    else this.set({ vis: clampInterval(to, this.#end) });
  }

  /** For run.svelte.ts only: how long the run is, how it goes, and up to where single CFs are known.
    Everything
   * follows the end, so it moves only now and then. */
  grown(end: number, state: State, known = this.#known): void {
    const live = state === "live";
    this.#died = !live && state !== "done";
    const now = performance.now();
    if (live && this.#live && end > this.#end && now - this.#grown < 700) return;
    this.#grown = now;
    const ended = this.#live && !live && this.#place.follow;
    this.#end = Math.max(end, 1);
    this.#known = Math.min(known, end);
    // what was being followed stays in sight
    if (ended) this.#apply({ ...this.#place, t: this.#place.t ?? this.#end, vis: this.vis &&
      clampInterval([this.#end - (this.vis[1] - this.vis[0]), this.#end], this.#end), follow: false },
      "replace");
    this.#live = live;
  }

  /** Goes to what was shown and selected before (-1), or forward again. Changes in quick succession, as of a
   * drag, are one. */
  go(way: -1 | 1): void {
    const [from, to] = way < 0 ? [this.#before, this.#after] : [this.#after, this.#before];
    const view = from.pop();
    if (!view) return;
    to.push({ vis: this.vis, sel: this.#place.sel });
    this.#show({ ...this.#place, ...view, follow: false }, "replace");
    this.#moved = 0;
  }

  // The live edge of a view. In the timeline it is the end of what can be shown.
  #edge(p: Place): number {
    return p.view === "timeline" && this.#known > 0 ? this.#known : this.#end;
  }

  #changed(change: Omit<Change, "playing" | "backward">): Place {
    const p = { ...this.#place };
    // Selections of one run mean nothing in another.
    if (change.run !== undefined && change.run !== p.run && p.run) Object.assign(p, { t: null, sel: null,
      vis: null, pick: null, filters: {} });
    Object.assign(p, change);
    // As in an address: an empty filter is none, or a link would lead to another state than the one it is in.
    if (change.filters) p.filters = Object.fromEntries(Object.entries(change.filters).filter(([, v]) => v));
    // the whole run, also when it grows
    if (change.vis && change.vis[0] <= 0 && change.vis[1] >= this.#end) p.vis = null;
    // Looking at a past moment stops following the live edge; zooming there does not.
    if (p.follow && change.follow === undefined) {
      const vis = change.vis;
      if (change.t != null || (vis && vis[1] < this.#edge(p) - (vis[1] - vis[0]) / 50)) {
        p.follow = false;
        if (change.vis === undefined) p.vis = this.vis; // the view stays in place
      }
    }
    return p;
  }

  #apply(p: Place, history: "push" | "replace"): void {
    const now = performance.now();
    if (p.run !== this.#place.run) this.#before = this.#after = [];
    else if (!same([p.vis, p.sel], [this.#place.vis, this.#place.sel])) {
      if (now - this.#moved > 500) this.#before = [...this.#before.slice(-99), { vis: this.vis,
        sel: this.#place.sel }];
      this.#after = [];
      this.#moved = now;
    }
    this.#show(p, history);
  }

  #show(p: Place, history: "push" | "replace"): void {
    if (inBrowser) {
      const to = format(p) || location.pathname;
      if (history === "push") {
        if (this.#pending !== undefined) this.#write();
        if (to !== location.search) window.history.pushState(null, "", to);
      // browsers refuse too many changes per second
      } else this.#pending ??= setTimeout(() => this.#write(), 250);
    }
    this.#place = p;
  }

  #write(): void {
    clearTimeout(this.#pending);
    this.#pending = undefined;
    window.history.replaceState(null, "", format(this.#place) || location.pathname);
  }
}

/** Speeds to choose from. */
export const speeds = [1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000];

function defaultSpeed(end: number): number {
  const wanted = end / 20e9;
  return speeds.reduce((best, s) => (Math.abs(Math.log(s / wanted)) < Math.abs(Math.log(best / wanted)) ? s
    : best));
}

export const app = new App();
