// A query whose answer follows what is shown: it is asked again when its inputs change or new data has
// arrived.

import { untrack } from "svelte";
import { ApiError, get, runPath, url, type Params } from "./client";
import { common } from "./i18n";
import { current } from "./run.svelte";
import { app } from "./state.svelte";
import { toast } from "./toast.svelte";

export interface Query<T> {
  /** The last answer, kept while the next one is in flight. */
  readonly data: T | undefined;
  readonly loading: boolean;
  readonly error: string | null;
  /** The data is about earlier inputs. */
  readonly stale: boolean;
  /** When the question that is waited for was first asked, ms of performance.now(). */
  readonly since: number;
  /** Asks again; so does everything else that failed. */
  refresh(): void;
}

export interface Options {
  quiet?: boolean; // no toast for an error
  once?: boolean; // do not ask again for new versions
  every?: number; // ms between questions for new versions, default 1000
}

/** How long to wait for an answer before the next question is asked beside it, ms. The first is not
 * cancelled: while a cursor keeps moving or a run keeps growing, each answer would be cancelled for the next
 * one, and none would ever arrive. */
const patience = 400;
const atOnce = 2;

/** What failed, and is not being asked again. Questions mostly fail together, and a failure may hide another
 * one, so whoever tries one of them again tries them all. */
const failed = new Set<() => void>();

/** Asks for what f returns: a path (relative to the run unless it begins with "/") and parameters; undefined:
 * nothing. Call it while a component is created. */
export function query<T>(f: () => [path: string, params?: Params] | undefined,
  options: Options = {}): Query<T> {
  let data = $state.raw<T | undefined>();
  let error = $state<string | null>(null);
  let loading = $state(false);
  let since = $state(performance.now());
  let answered = $state("");
  let forced = $state(0);
  let wanted = ""; // address
  let run = "";
  let running: { control: AbortController; number: number; address: string }[] = [];
  let number = 0; // of the last question
  let lastAddress = "";
  let done = 0; // refreshes
  let shown = 0; // number of the question whose answer is shown
  let timer: ReturnType<typeof setTimeout> | undefined; // for a new version
  let soon: ReturnType<typeof setTimeout> | undefined; // for new inputs
  let last = 0; // when the last question was asked
  let version = 0; // of the run at that time

  const address = $derived.by(() => {
    const q = f();
    const absolute = q?.[0].startsWith("/");
    if (!q || (!absolute && !app.run)) return "";
    return url(absolute ? q[0] : runPath(q[0]), q[1]);
  });

  const again = () => {
    if (error) forced++;
  };

  async function ask() {
    clearTimeout(timer);
    clearTimeout(soon);
    timer = soon = undefined;
    failed.delete(again);
    const own = { control: new AbortController(), number: ++number, address: (lastAddress = wanted) };
    running.push(own);
    last = performance.now();
    version = current.version;
    if (!loading) since = last;
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
        failed.add(again);
        if (!options.quiet) toast(error);
      }
    }
    running = running.filter((r) => r !== own);
    loading = running.length > 0;
    changed();
  }

  // Asks the current question, unless it is in flight.
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
    failed.delete(again);
    for (const r of running) r.control.abort();
    running = [];
    lastAddress = "";
    loading = false;
  }

  $effect(() => {
    const to = address;
    const times = forced;
    untrack(() => {
      if (run !== app.run) {
        run = app.run;
        data = undefined;
        error = null;
        stop();
      }
      wanted = to;
      if (!to) stop();
      else if (times !== done) {
        done = times;
        void ask();
      } else changed();
    });
  });
  // New versions: at most this often, and always the last one.
  $effect(() => {
    if (options.once || current.version === 0) return;
    untrack(() => {
      // The first version that is announced is the one already answered, unless the run is going on.
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
    get since() {
      return since;
    },
    get stale() {
      // a live run has always moved on a bit
      return data !== undefined && answered !== address && !current.live;
    },
    refresh() {
      forced++;
      for (const again of failed) again();
    },
  };
}
