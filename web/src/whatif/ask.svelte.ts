// Predictions for what the sliders say. A new machine cancels the questions about the one before, here and at
// the server.

import type { Division, Prediction, Scaling } from "../api";
import { get, runPath, url, type Params } from "../lib/client";

export interface Asked {
  /** The last prediction: an estimate, or exact. */
  readonly prediction: Prediction | undefined;
  /** Its factors. */
  readonly division: Division | undefined;
  /** The same machine with other numbers of nodes. */
  readonly scaling: Scaling | undefined;
  /** The prediction is of an earlier machine. */
  readonly stale: boolean;
  /** Factors are on their way. */
  readonly dividing: boolean;
  readonly error: string | null;
  readonly loading: boolean;
  /** When it was asked, ms of performance.now(). */
  readonly since: number;
  /** Asks again. */
  refresh(): void;
}

/** Waits before it asks, as sliders move on, ms. */
const pause = 60;

/** Asks for the machine that f returns; undefined: nothing. Call it while a component is created. */
export function ask(f: () => Params | undefined, sampled: () => boolean): Asked {
  let prediction = $state.raw<Prediction | undefined>();
  let division = $state.raw<Division | undefined>();
  let scaling = $state.raw<Scaling | undefined>();
  let of = $state("");
  let dividedOf = $state("");
  let scaledOf = $state("");
  let error = $state<string | null>(null);
  let since = $state(performance.now());
  let times = $state(0);
  const address = $derived.by(() => {
    const params = f();
    return params && url(runPath("whatif"), params);
  });

  async function about(machine: string, estimate: boolean, signal: AbortSignal) {
    const to = <T>(question: string) => get<T>(machine.replace("/whatif", "/whatif/" + question), {}, signal);
    try {
      if (estimate) {
        const rough = await to<Prediction | null>("estimate");
        if (signal.aborted) return;
        if (rough) [prediction, of] = [rough, machine];
      }
      const exact = await to<Prediction>("predict");
      if (signal.aborted) return;
      [prediction, of] = [exact, machine];
      if (estimate) {
        const rough = await to<Scaling | null>("scaling/estimate");
        if (signal.aborted) return;
        if (rough) [scaling, scaledOf] = [rough, machine];
      }
      const curve = await to<Scaling>("scaling");
      if (signal.aborted) return;
      [scaling, scaledOf] = [curve, machine];
      const factors = await to<Division>("factors");
      if (!signal.aborted) [division, dividedOf] = [factors, machine];
    } catch (e) {
      if (!signal.aborted) error = (e as Error).message;
    }
  }

  $effect(() => {
    const machine = address;
    const estimate = sampled();
    if (!machine) return;
    void times;
    [error, since] = [null, performance.now()];
    const control = new AbortController();
    const timer = setTimeout(() => about(machine, estimate, control.signal), pause);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  });

  return {
    get prediction() {
      return prediction;
    },
    get division() {
      return dividedOf === address ? division : undefined;
    },
    get scaling() {
      return scaledOf === address ? scaling : undefined;
    },
    get stale() {
      return address !== undefined && of !== address && error === null;
    },
    get dividing() {
      return dividedOf !== address && error === null;
    },
    get error() {
      return error;
    },
    get loading() {
      return error === null && of !== address;
    },
    get since() {
      return since;
    },
    refresh: () => void times++,
  };
}
