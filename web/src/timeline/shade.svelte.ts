// What CFs are coloured by: their code fragment, the factor, or the classes of Shades.

import type { Shades } from "../api";
import { heat, palette, seriesColor } from "../lib/colors";
import { common, duration, value } from "../lib/i18n";
import { query } from "../lib/query.svelte";
import { current } from "../lib/run.svelte";
import { app } from "../lib/state.svelte";
import { text } from "./text";

const valueOf = "value.";

/** Call it while a component is created. */
export class Shade {
  readonly by: string = $derived.by(() => {
    const by = app.filters["timeline.by"] ?? "";
    return ["factor", "origin", "late"].includes(by) || by.startsWith(valueOf) ? by : "code";
  });
  /** "": not by a number of the program's own. */
  readonly number: string = $derived(this.by.startsWith(valueOf) ? this.by.slice(valueOf.length) : "");
  readonly query = query<Shades>(() => (this.by === "code" || this.by === "factor" ? undefined
    : ["shades", { by: this.by }]), { every: 5000 });
  private readonly edges: readonly number[] = $derived(this.query.data?.by === this.by ? this.query.data.edges
    : []);
  private readonly classes: number = $derived(this.by === "origin"
    ? Math.max(0, ...(current.run?.lanes ?? []).map((l) => l.node)) + 2 : Math.max(this.edges.length, 1));

  /** By class; empty where CFs are coloured by code or factor. */
  readonly colors: string[] = $derived.by(() => {
    void app.dark;
    if (this.by === "code" || this.by === "factor") return [];
    return Array.from({ length: this.classes }, (_, i) => (i === 0 ? palette().x : this.by === "origin"
      ? seriesColor(i - 1) : heat(0.12 + (0.88 * i) / Math.max(this.classes - 1, 1))));
  });
  readonly legend: { name: string; color: string }[] = $derived(this.colors.map((color, i) => ({ color,
    name: this.name(i) })).slice(this.by === "origin" ? 1 : 0, 30));

  /** A class in words. */
  name = (i: number): string => {
    if (i === 0) return text.noValue;
    if (this.by === "origin") return common.nodeN(i - 1);
    const [a, b] = [this.edges[i - 1], this.edges[i]];
    if (b === undefined) return text.noValue;
    const show = (v: number) => (this.by === "late" ? duration(v) : value(v, "count"));
    return a === b ? show(a) : `${show(a)} – ${show(b)}`;
  };
}
