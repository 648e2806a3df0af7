// Which lanes are shown and in what order: kept in the address, as all that users can set.

import type { FactorWindows } from "../api";
import { current } from "../lib/run.svelte";
import { app } from "../lib/state.svelte";
import { arrange, lanesShown, numbersOf, orders, ranges, type Group, type Order } from "./layout";

const pins = "timeline.pin";
const hides = "timeline.hide";
const closes = "timeline.closed";

export class LaneChoice {
  /** loads gives how long each lane was in user code, where that is known. */
  constructor(private readonly loads: () => FactorWindows | undefined) {}

  readonly order: Order = $derived(orders.find((o) => o === app.filters["timeline.order"]) ?? "node");
  readonly pinned: number[] = $derived(numbersOf(app.filters[pins], current.run?.lanes.length ?? 0));
  readonly hidden: number[] = $derived(numbersOf(app.filters[hides], current.run?.lanes.length ?? 0));
  /** Names of the groups that are closed. */
  readonly closed: string[] = $derived((app.filters[closes] ?? "").split(",").filter(Boolean));
  /** The lanes that filters leave. */
  readonly left: number[] = $derived(lanesShown(current.run?.lanes ?? [], app.filters.node,
    app.filters.link));
  load = (lane: number): number => this.useful.get(lane) ?? 0;
  private readonly useful: Map<number, number> = $derived.by(() => {
    const d = this.loads();
    const row = d?.rows.indexOf("U") ?? -1;
    return new Map(d?.lanes.map((l) => [l.lane, l.sum[row] ?? 0]));
  });
  readonly groups: Group[] = $derived(arrange(current.run?.lanes ?? [], this.left, this.order, this.pinned,
    this.hidden, this.load, this.closed));

  /** Pins a lane, or no longer. */
  pin(lane: number): void {
    this.toggle(pins, this.pinned, lane);
  }
  hide(lane: number): void {
    this.toggle(hides, this.hidden, lane);
  }
  /** Closes a group of lanes, or opens it. */
  fold(group: string): void {
    this.close(this.closed.includes(group) ? this.closed.filter((g) => g !== group)
      : [...this.closed, group]);
  }
  /** Closes these groups and opens all others. */
  close(groups: readonly string[]): void {
    app.filter(closes, groups.join(",") || null);
  }
  /** Opens the group of a lane; false: it is not in a closed one. */
  openTo(lane: number): boolean {
    const group = this.groups.find((g) => g.closed && g.lanes.includes(lane));
    if (group) this.fold(group.name);
    return !!group;
  }
  reset(): void {
    app.filter(pins, null);
    app.filter(hides, null);
  }

  private toggle(name: string, list: number[], lane: number): void {
    app.filter(name, ranges(list.includes(lane) ? list.filter((l) => l !== lane) : [...list, lane]));
  }
}
