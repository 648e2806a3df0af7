// Marks that people set in a run, with their notes. The server keeps them in the folder of the trace.

import type { Mark } from "../api";
import { put, remove, runPath } from "../lib/client";
import { query } from "../lib/query.svelte";
import { app } from "../lib/state.svelte";
import { toast } from "../lib/toast.svelte";

const measured = "timeline.measure";

/** Call it while a component is created. */
export class Marks {
  readonly query = query<Mark[]>(() => (app.run ? ["marks"] : undefined), { quiet: true });
  readonly list: Mark[] = $derived(this.query.data ?? []);
  /** The marks between which is measured: none, one or two, in order of time. */
  readonly ends: Mark[] = $derived.by(() => {
    const keys = (app.filters[measured] ?? "").split(",");
    return this.list.filter((m) => keys.includes(m.key)).slice(0, 2);
  });

  /** Marks the selected interval, else the cursor. */
  add(): Promise<void> {
    const at = app.sel ?? (app.now === null ? null : [app.now, app.now]);
    if (!at) return Promise.resolve();
    const key = Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) => (b % 36).toString(36)).join("");
    return this.keep({ key, from: Math.round(at[0]), to: Math.round(at[1]), text: "" });
  }
  keep(m: Mark): Promise<void> {
    return this.tell(put(runPath(`marks/${m.key}`), { from: m.from, to: m.to, text: m.text }));
  }
  remove(m: Mark): Promise<void> {
    return this.tell(remove(runPath(`marks/${m.key}`)));
  }
  /** Measures from or to a mark, or no longer. A third one takes the place of the first. */
  measure(m: Mark): void {
    const keys = this.ends.map((e) => e.key);
    const next = keys.includes(m.key) ? keys.filter((k) => k !== m.key) : [...keys, m.key].slice(-2);
    app.filter(measured, next.join(","));
  }

  private async tell(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (e) {
      toast((e as Error).message);
    }
    this.query.refresh();
  }
}

/** What lies between two marks: from the end of the first to the beginning of the second, if they are
 * apart. */
export function between(a: Mark, b: Mark): [number, number] {
  const [first, second] = a.from <= b.from ? [a, b] : [b, a];
  return first.to <= second.from ? [first.to, second.from] : [first.from, second.from];
}
