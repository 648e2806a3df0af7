// The debugger of the program that the page shows, where there is one.

import type { DebugArgs, DebugState } from "../api";
import { listen, put, type Params } from "./client";
import { query, type Query } from "./query.svelte";
import { runs } from "./run.svelte";
import { app } from "./state.svelte";
import { toast } from "./toast.svelte";

const nothing: DebugState = { version: 0, phase: "starting", reason: "", text: "", cf: "", node: -1,
  worker: -1, break: 0, points: [], holds: [], firsts: [], changes: [], log: [], logged: 0 };

/** Actions that let the program go on, so that it will stop elsewhere. */
const going = ["continue", "step", "until", "quit"];

class Debugging {
  state = $state.raw(nothing);
  readonly on = $derived(runs.list.some((r) => r.debugged));
  /** Whether there are CFs and DFs to ask for. */
  readonly alive = $derived(this.state.phase === "running" || this.state.phase === "stopped");
  /** The CF that is looked at: that which was chosen, or that where the program stopped; "": none. */
  readonly cf = $derived(app.filters["debug.cf"] ?? this.state.cf);

  /** Has something done after what was asked for before; yields what is wrong with it, or "". */
  act(action: string, args: DebugArgs = {}): Promise<string> {
    return (this.#last = this.#last.then(() => this.#act(action, args)));
  }
  #last = Promise.resolve("");
  async #act(action: string, args: DebugArgs): Promise<string> {
    try {
      await put(`/api/debug/${action}`, args);
    } catch (e) {
      return (e as Error).message;
    }
    if (going.includes(action)) app.filter("debug.cf", null);
    return "";
  }
  /** Goes to where the program stopped. */
  look(): void {
    const { "debug.cf": _, ...filters } = app.filters;
    app.set({ view: "debug", filters });
  }
  /** Goes on or pauses, or makes a step. */
  async press(key: "goOn" | "stepCF"): Promise<void> {
    const stopped = this.state.phase === "stopped";
    const why = key === "stepCF" ? stopped ? await this.step() : ""
      : await this.act(stopped ? "continue" : "pause");
    if (why) toast(why);
  }
  /** A step of the CF that is looked at, or of what can be taken in its place. */
  async step(): Promise<string> {
    const { cf, where } = this;
    const { node, worker } = where ?? this.state; // the CF where it stopped may have ended
    switch (app.filters["debug.step"]) {
      case "any": return this.act("step");
      case "node": return this.act("step", node < 0 ? {} : { node });
      case "worker": return this.act("step", node < 0 ? {} : { node, worker });
      default: {
        const why = await this.act("step", { cf });
        return why && !app.filters["debug.cf"] ? this.act("step") : why;
      }
    }
  }
  /** The node and worker of the CF that is looked at, as long as it is known. */
  where = $state.raw<{ node: number; worker: number } | null>(null);
}

export const debugging = new Debugging();

/** Starts to listen for the debugger. Call it once, within a component. */
export function followDebugger(): void {
  const on = $derived(debugging.on);
  $effect(() => {
    if (!on) return;
    return listen<DebugState>("/api/debug/updates", (s) => (debugging.state = s), () => {});
  });
}

/** Asks the debugger while the program is there: after every change, and each second, as what runs in C++
 * code goes on after a stop. Call it while a component is created. */
export function askDebugger<T>(f: () => [what: string, params?: Params] | undefined): Query<T | null> {
  const q = query<T | null>(() => {
    const asked = debugging.alive ? f() : undefined;
    return asked && [`/api/debug/${asked[0]}`, { ...asked[1], v: debugging.state.version }];
  }, { quiet: true, once: true });
  $effect(() => {
    const timer = setInterval(() => {
      if (debugging.alive && !document.hidden && !q.loading) q.refresh();
    }, 1000);
    return () => clearInterval(timer);
  });
  return q;
}
