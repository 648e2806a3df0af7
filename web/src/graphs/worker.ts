// Requests layouts from the layout worker, of which the page has one. A worker whose answer nobody needs any
// more is terminated, so that the next request does not queue behind a slow layout.

import type { Layout, LayoutInput } from "./layout";
import type { Nested, NestedInput } from "./nested";

/** What a worker is asked for. */
export type Task = LayoutInput | NestedInput;
type Placed = Layout | Nested;

let worker: Worker | undefined;
let waiting: { id: number; done: (l: Placed) => void; failed: (e: Error) => void } | undefined;
let count = 0;

/** The layout of a graph. A newer request ends the older one with an AbortError. */
export function layoutOf<T extends Task>(input: T): Promise<T extends NestedInput ? Nested : Layout> {
  if (waiting) {
    waiting.failed(new DOMException("a newer layout was asked for", "AbortError"));
    worker?.terminate();
    worker = undefined;
  }
  worker ??= start();
  const id = ++count;
  return new Promise((done, failed) => {
    waiting = { id, done: done as (l: Placed) => void, failed };
    worker!.postMessage({ id, input });
  });
}

function start(): Worker {
  const w = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  w.onmessage = (e: MessageEvent<{ id: number; layout?: Placed; error?: string }>) => {
    if (e.data.id !== waiting?.id) return;
    const { done, failed } = waiting;
    waiting = undefined;
    if (e.data.layout) done(e.data.layout);
    else failed(new Error(e.data.error));
  };
  w.onerror = (e) => {
    waiting?.failed(new Error(e.message || "layout worker"));
    waiting = undefined;
    worker = undefined;
  };
  return w;
}
