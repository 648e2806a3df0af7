// The balancer, one strategy after another, so that the page shows how far it is and can stop it. Another
// machine stops it, here and at the server.

import type { Profile, Trial } from "../api";
import { get, runPath, url, type Params } from "../lib/client";

export interface Balancer {
  /** Strategies that were tried, the fastest first. */
  readonly trials: Trial[];
  /** The strategy that is being tried; "": none. */
  readonly trying: string;
  /** The strategy whose distribution is shown or asked for; "": none. */
  readonly chosen: string;
  readonly profile: Profile | undefined;
  readonly error: string | null;
  /** Does again what failed. */
  refresh(): void;
  start(strategies: readonly string[]): void;
  /** Shows the distribution of a strategy. */
  choose(strategy: string): void;
  stop(): void;
}

/** A balancer for the machine that f returns. Call it while a component is created. */
export function balancer(f: () => Params): Balancer {
  let trials = $state.raw<Trial[]>([]);
  let trying = $state("");
  let chosen = $state("");
  let profile = $state.raw<Profile | undefined>();
  let error = $state<string | null>(null);
  let control = new AbortController();
  let last = () => {};
  // Machines are compared by value.
  const now = $derived(url("", f()));

  function stop() {
    control.abort();
    control = new AbortController();
    trying = "";
  }
  async function careful(work: (signal: AbortSignal) => Promise<void>) {
    last = () => void careful(work);
    stop();
    error = null;
    const { signal } = control;
    try {
      await work(signal);
    } catch (e) {
      if (!signal.aborted) [error, trying] = [(e as Error).message, ""];
    }
  }
  async function show(strategy: string, signal: AbortSignal) {
    [chosen, profile] = [strategy, undefined];
    const a = await get<Profile>(runPath("whatif/balance"), { ...f(), strategy }, signal);
    if (!signal.aborted) profile = a;
  }

  $effect(() => {
    void now;
    return () => {
      stop();
      [trials, chosen, profile, error] = [[], "", undefined, null];
    };
  });

  return {
    get trials() {
      return trials;
    },
    get trying() {
      return trying;
    },
    get chosen() {
      return chosen;
    },
    get profile() {
      return profile;
    },
    get error() {
      return error;
    },
    refresh: () => last(),
    start: (strategies) => careful(async (signal) => {
      [trials, chosen, profile] = [[], "", undefined];
      for (const strategy of strategies) {
        trying = strategy;
        const t = await get<Trial>(runPath("whatif/try"), { ...f(), strategy }, signal);
        if (signal.aborted) return;
        trials = [...trials, t].sort((a, b) => a.left - b.left || a.wall_ns - b.wall_ns);
      }
      trying = "";
      await show(trials[0].strategy, signal);
    }),
    choose: (strategy) => careful((signal) => show(strategy, signal)),
    stop,
  };
}
