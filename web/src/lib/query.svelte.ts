// A query whose answer follows what is shown: asked again when its inputs change or something new has
// arrived.

import { untrack } from "svelte";
import { ApiError, get, runPath, url, type Params } from "./client";
import { common } from "./i18n";
import { current } from "./run.svelte";
import { app } from "./state.svelte";
import { toast } from "./toast.svelte";

export interface Query<T> {
  /** The last answer, kept while the next one is on its way. */
  readonly data: T | undefined;
  readonly loading: boolean;
  readonly error: string | null;
  /** The data answers other inputs than those of now. */
  readonly stale: boolean;
  refresh(): void;
}

export interface Options {
  quiet?: boolean; // no toast for an error
  once?: boolean; // not asked again for new versions
  every?: number; // ms between questions for new versions, default 1000
}

/**
 * How long an answer is waited for before the next question is asked beside it, ms. It is not given up: while
 * a cursor moves on
 * and on or a run grows, each answer would be given up for the next one and none would ever come.
 */
const patience = 400;
const atOnce = 2;

/** Asks for what f tells: a path (relative to the run unless it begins with "/") and parameters; undefined:
 * nothing. Call it while a component is made. */
export function query<T>(f: () => [path: string, params?: Params] | undefined,
  options: Options = {}): Query<T> {
  let data = $state.raw<T | undefined>();
  let error = $state<string | null>(null);
  let loading = $state(false);
  let answered = $state("");
  let forced = $state(0);
  let wanted = ""; // address
  let run = "";
  let running: { control: AbortController; number: number; address: string }[] = [];
  let number = 0; // of the last question
  let lastAddress = "";
  let done = 0; // refreshes
  let shown = 0; // the question whose answer is shown
  let timer: ReturnType<typeof setTimeout> | undefined; // for a new version
  let soon: ReturnType<typeof setTimeout> | undefined; // for new inputs
  let last = 0; // when the last question was asked
  let version = 0; // of the run as known then

  const address = $derived.by(() => {
    const q = f();
    const absolute = q?.[0].startsWith("/");
    if (!q || (!absolute && !app.run)) return "";
    return url(absolute ? q[0] : runPath(q[0]), q[1]);
  });

  async function ask() {
    clearTimeout(timer);
    clearTimeout(soon);
    timer = soon = undefined;
    const own = { control: new AbortController(), number: ++number, address: (lastAddress = wanted) };
    running.push(own);
    last = performance.now();
    version = current.version;
    loading = true;
    try {
      const got = await get<T>(own.address, undefined, own.control.signal);
      if (own.control.signal.aborted) return;
      if (own.number > shown) {
        shown = own.number;
        data = got;
        answered = own.address;
        error = null;
      }
    } catch (e) {
      if (own.control.signal.aborted) return;
      if (e instanceof ApiError && e.status === 503 && current.live) {
        timer ??= setTimeout(ask, 1000); // nothing has arrived yet
      } else if (own.number > shown) {
        error = e instanceof ApiError && e.status === 0 ? common.unreachable : (e as Error).message;
        if (!options.quiet) toast(error);
      }
    }
    running = running.filter((r) => r !== own);
    loading = running.length > 0;
    changed();
  }

  // Asks for what is wanted now, unless it is on its way.
  function changed() {
    if (!wanted || running.at(-1)?.address === wanted || (running.length === 0 && lastAddress === wanted) ||
      running.length >= atOnce) return;
    const wait = running.length ? last + patience - performance.now() : 0;
    if (wait > 0) soon ??= setTimeout(() => ((soon = undefined), changed()), wait);
    else void ask();
  }
  function stop() {
    clearTimeout(timer);
    clearTimeout(soon);
    timer = soon = undefined;
    for (const r of running) r.control.abort();
    running = [];
    lastAddress = "";
    loading = false;
  }

  $effect(() => {
    const to = address;
    const again = forced;
    untrack(() => {
      if (run !== app.run) {
        run = app.run;
        data = undefined;
        error = null;
        stop();
      }
      wanted = to;
      if (!to) stop();
      else if (again !== done) {
        done = again;
        void ask();
      } else changed();
    });
  });
  // New versions: at most so often, the last one always.
  $effect(() => {
    if (options.once || current.version === 0) return;
    untrack(() => {
      // The first version that is heard of is the one that was answered, unless the run goes on.
      if (version === 0 && !current.live) version = current.version;
      if (!wanted || timer !== undefined || last === 0 || version === current.version) return;
      const next = () => {
        timer = undefined;
        if (running.length) timer = setTimeout(next, 200);
        else if (wanted) void ask();
      };
      timer = setTimeout(next, Math.max(0, last + (options.every ?? 1000) - performance.now()));
    });
  });
  $effect(() => () => stop());

  return {
    get data() {
      return data;
    },
    get loading() {
      return loading;
    },
    get error() {
      return error;
    },
    get stale() {
      // a run that goes on always is a bit further
      return data !== undefined && answered !== address && !current.live;
    },
    refresh() {
      forced++;
    },
  };
}
