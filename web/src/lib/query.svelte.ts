// A query whose answer follows what is shown: asked again when its inputs change or something new has arrived.

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

/** How long an answer to inputs of before is waited for before it is given up, ms: a cursor that moves on and on must not keep every answer from coming. */
const patience = 400;

/** Asks for what f tells: a path (relative to the run unless it begins with "/") and parameters; undefined: nothing. Call it while a component is made. */
export function query<T>(f: () => [path: string, params?: Params] | undefined, options: Options = {}): Query<T> {
  let data = $state.raw<T | undefined>();
  let error = $state<string | null>(null);
  let loading = $state(false);
  let answered = $state("");
  let forced = $state(0);
  let wanted = ""; // address
  let run = "";
  let running: { control: AbortController; since: number; address: string } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0; // when the last question was asked
  let version = 0; // of the run as known then

  const address = $derived.by(() => {
    const q = f();
    const absolute = q?.[0].startsWith("/");
    if (!q || (!absolute && !app.run)) return "";
    return url(absolute ? q[0] : runPath(q[0]), q[1]);
  });

  async function ask() {
    timer = undefined;
    const own = (running = { control: new AbortController(), since: performance.now(), address: wanted });
    last = own.since;
    version = current.version;
    loading = true;
    let again = false;
    try {
      const got = await get<T>(own.address, undefined, own.control.signal);
      if (own.control.signal.aborted) return;
      data = got;
      answered = own.address;
      error = null;
    } catch (e) {
      if (own.control.signal.aborted) return;
      error = e instanceof ApiError && e.status === 0 ? common.unreachable : (e as Error).message;
      if (e instanceof ApiError && e.status === 503 && current.live) again = true; // nothing has arrived yet
      else if (!options.quiet) toast(error);
    }
    running = undefined;
    if (wanted && wanted !== own.address) void ask();
    else loading = false;
    if (again) timer ??= setTimeout(ask, 1000);
  }

  function stop() {
    clearTimeout(timer);
    timer = undefined;
    running?.control.abort();
    running = undefined;
  }

  $effect(() => {
    const to = address;
    void forced;
    untrack(() => {
      if (run !== app.run) {
        run = app.run;
        data = undefined;
        stop();
      }
      wanted = to;
      if (!to) {
        stop();
        loading = false;
        return;
      }
      if (running && running.address !== to && performance.now() - running.since > patience) stop();
      if (!running) {
        clearTimeout(timer);
        void ask();
      }
    });
  });
  // New versions: at most so often, the last one always.
  $effect(() => {
    if (options.once || current.version === 0) return;
    untrack(() => {
      // The first version that is heard of is the one that was answered, unless the run goes on.
      if (version === 0 && !current.live) version = current.version;
      if (!wanted || timer !== undefined || last === 0 || version === current.version) return;
      const soon = () => {
        timer = undefined;
        if (running) timer = setTimeout(soon, 200);
        else if (wanted) void ask();
      };
      timer = setTimeout(soon, Math.max(0, last + (options.every ?? 1000) - performance.now()));
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
      return data !== undefined && answered !== address;
    },
    refresh() {
      forced++;
    },
  };
}
