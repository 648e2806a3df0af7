// The waits of the reason that was chosen, for the bar that steps through them and for all pictures that mark
// them.

import type { Wait, Waits } from "../api";
import { clampInterval } from "./axis";
import { query } from "./query.svelte";
import { parse } from "./reason";
import { app } from "./state.svelte";

class Chosen {
  data = $state.raw<Waits | undefined>();
  readonly at = $derived(Math.min(Math.max(Number(app.filters["waits.n"]) || 0, 0),
    Math.max((this.data?.rows.length ?? 0) - 1, 0)));
  /** The one that was stepped to. */
  readonly one: Wait | null = $derived(app.filters["waits.n"] === undefined ? null
    : (this.data?.rows[this.at] ?? null));

  /** Goes to a wait, the longest being 0, and shows it in the timeline. */
  go(n: number, history?: "replace"): void {
    const rows = this.data?.rows ?? [];
    const w = rows[((n % rows.length) + rows.length) % rows.length];
    if (!w) return;
    const around = Math.max((w.to - w.from) * 1.5, 200);
    app.set({ view: "timeline", t: w.from, vis: clampInterval([w.from - around, w.to + around], app.end),
      filters: { ...app.filters, "waits.n": String(rows.indexOf(w)) } }, history);
  }
  step(by: 1 | -1): void {
    this.go(this.one ? this.at + by : by > 0 ? 0 : -1);
  }
}

export const chosen = new Chosen();

/** Asks for the waits of the chosen reason. Call it once, while a component is created. */
export function follow() {
  const q = query<Waits>(() => {
    const wanted = parse(app.filters.waits);
    return wanted ? ["waits", { ...wanted, from: app.sel?.[0], to: app.sel?.[1], windows: 300 }] : undefined;
  }, { every: 3000 });
  $effect(() => {
    chosen.data = app.filters.waits ? q.data : undefined;
  });
  return q;
}
