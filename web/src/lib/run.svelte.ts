// All runs, and the one that is shown. The server's updates keep them current.

import type { Code, Run, RunSummary, Update } from "../api";
import { get, listen, runPath, ApiError } from "./client";
import { common } from "./i18n";
import { app } from "./state.svelte";
import { terms } from "./terms.svelte";
import { toast } from "./toast.svelte";

export const runs = $state<{ list: RunSummary[]; loaded: boolean; connected: boolean }>({ list: [],
  loaded: false, connected: true });

class Current {
  run = $state.raw<Run | undefined>();
  update = $state.raw<Update | undefined>();
  connected = $state(true);
  /** Why the run cannot be shown, or null. */
  error = $state<string | null>(null);
  readonly version = $derived(this.update?.version ?? this.run?.version ?? 0);
  readonly live = $derived((this.update?.state ?? this.run?.state) === "live");
}

export const current = new Current();

/** Starts to listen for updates. Call it once, within a component or $effect.root. */
export function follow(): void {
  $effect(() =>
    listen<RunSummary[]>(
      "/api/updates",
      (list) => {
        runs.list = list;
        runs.loaded = true;
        if (!app.run && list.length) app.set({ run: list[0].id }, "replace");
      },
      (connected) => (runs.connected = connected),
    ),
  );
  $effect(() => {
    const id = app.run;
    if (!id) return;
    current.run = current.update = undefined;
    current.error = null;
    let asked = -1; // version of the last run.json requested
    let last = 0;
    const control = new AbortController();
    const load = async () => {
      try {
        const run = await get<Run>(runPath(), {}, control.signal);
        current.run = run;
        terms.tasks = /OpenMP|^threads$/.test(run.info.settings?.program ?? "");
        current.error = null;
        app.grown(Math.max(run.wall_ns, current.update?.wall_ns ?? 0), current.update?.state ?? run.state);
      } catch (e) {
        if (control.signal.aborted) return;
        const status = e instanceof ApiError ? e.status : -1;
        const text = status === 0 ? common.unreachable : status === 404 ? common.noRun : (e as Error).message;
        // nothing has arrived yet; the next update asks again
        if (e instanceof ApiError && e.status === 503 && current.live) return;
        if (!current.run) current.error = text;
        else toast(text);
      }
    };
    const stop = listen<Update>(
      `/api/runs/${encodeURIComponent(id)}/updates`,
      (u) => {
        const stateChanged = current.update?.state !== u.state;
        current.update = u;
        app.grown(u.wall_ns, u.state, u.snapshot_ns);
        // The run's code fragments, lanes and warnings seldom change, so they are fetched only now and then.
        const now = performance.now();
        if (u.version !== asked && (stateChanged || !current.run || now - last > 2000)) {
          asked = u.version;
          last = now;
          void load();
        }
      },
      (connected) => (current.connected = connected),
    );
    void load();
    return () => {
      stop();
      control.abort();
    };
  });
}

const unknown: Code = { name: "?", kind: "atomic", file: "", line: 0, count: 0 };

/** A code fragment of the run by its number, or the unknown one. */
export function codeOf(n: number): Code {
  return current.run?.codes[n] ?? current.run?.codes[0] ?? unknown;
}

/** The given events that the run lacks. A program with regions has no CFs and DFs, and lacks nothing. */
export function notRecorded(...events: string[]): string[] {
  const has = new Set(current.run?.kinds.map((k) => k.event));
  return current.run && !current.live && !onlyRegions() ? events.filter((e) => !has.has(e)) : [];
}

const has = (event: string) => current.run?.kinds.some((k) => k.event === event) ?? false;

/** Whether the run is of a program with regions, whose patterns are searched. */
export function hasRegions(): boolean {
  return has("RegionEvents.onEntered");
}

/** Whether the program has only threads and regions, without CFs: then nothing about CFs and DFs applies. */
export function onlyRegions(): boolean {
  return hasRegions() && !has("CFEvents.onStarted") && !has("CFEvents.onCreated");
}

/** A lane as "node.worker". */
export function laneName(lane: number): string {
  const l = current.run?.lanes[lane];
  return l ? `${l.node}.${l.worker}` : "?";
}
