// Requests to the server.

import { app } from "./state.svelte";

export type Params = Record<string, string | number | boolean | null | undefined>;

/** An error answer of the server, in its words. Status 0: the server could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

let asking: Promise<void> | undefined;
let unlocked = 0; // how often a valid token was given
let asker: ((wrong: boolean) => Promise<string>) | undefined;

/** App sets the function that asks the user for the token. */
export function setAsker(f: typeof asker): void {
  asker = f;
}

// The server keeps a valid token in a cookie, which is also sent with downloads.
async function unlock(): Promise<void> {
  for (let wrong = false; ; wrong = true) {
    const token = await asker!(wrong);
    if ((await fetch(url("/", { token }))).ok) return void unlocked++;
  }
}

/** An address with parameters; null, undefined and "" are left out. */
export function url(path: string, params: Params = {}): string {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) if (v !== null && v !== undefined && v !== "") q.set(name,
    typeof v === "number" ? String(Math.round(v)) : String(v));
  const s = q.toString();
  return s ? `${path}?${s}` : path;
}

/** The path of a query about the current run. */
export function runPath(rest = ""): string {
  return `/api/runs/${encodeURIComponent(app.run)}${rest ? "/" + rest : ""}`;
}

/** Sends a request. If the server wants a token, the user is asked for it. */
export async function request(path: string, params?: Params, signal?: AbortSignal,
  accept = "application/json", method = "GET", body?: string): Promise<Response> {
  for (;;) {
    const before = unlocked;
    let answer: Response;
    try {
      answer = await fetch(url(path, params), { signal, method, body, headers: { Accept: accept } });
    } catch (e) {
      if (signal?.aborted) throw e;
      throw new ApiError(0, "");
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && asker) {
      // A refusal may arrive after the token was given, for a request sent before. The user is not asked
      // again for that.
      if (before === unlocked) await (asking ??= unlock().finally(() => (asking = undefined)));
      continue;
    }
    let message = `${answer.status} ${answer.statusText}`;
    try {
      const body = await answer.json();
      // the prefix names a kind of error, for programs
      if (typeof body.error === "string") message = body.error.replace(/^invalid argument: /, "");
    } catch {
      // not every answer is ours: a proxy does not send JSON
    }
    throw new ApiError(answer.status, message);
  }
}

export async function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return (await request(path, params, signal)).json();
}

/** Removes what a path names. */
export async function remove(path: string): Promise<void> {
  await request(path, undefined, undefined, undefined, "DELETE");
}

/** Keeps something under a path. */
export async function put(path: string, body: unknown): Promise<void> {
  await request(path, undefined, undefined, undefined, "PUT", JSON.stringify(body));
}

export async function getBinary(path: string, params?: Params, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await request(path, params, signal, "application/octet-stream")).arrayBuffer();
}

/** Listens to server-sent events and calls f with the data of each until stop is called. It connects again
 * when the connection is lost. (EventSource would not report that a token is wanted.) A hidden page does not
 * listen: that would burden the run for nothing, and a browser has six connections per server. */
export function listen<T>(path: string, f: (data: T) => void, status: (connected: boolean) => void): () =>
  void {
  let control: AbortController | undefined;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = async () => {
    if (stopped || control || document.hidden) return;
    const own = (control = new AbortController());
    let wait = 1000;
    let refused = false; // the server answered, so the connection is not lost
    try {
      const answer = await request(path, undefined, own.signal, "text/event-stream");
      status(true);
      for await (const data of events(answer.body!)) f(JSON.parse(data));
    } catch (e) {
      if (e instanceof ApiError && e.status >= 400 && e.status < 500) {
        wait = 10_000;
        refused = true;
      }
    }
    if (control === own) control = undefined;
    if (stopped || own.signal.aborted) return;
    status(refused);
    clearTimeout(timer);
    timer = setTimeout(connect, wait);
  };
  const seen = () => {
    if (!document.hidden) return void connect();
    control?.abort();
    control = undefined;
  };
  document.addEventListener("visibilitychange", seen);
  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
    control?.abort();
  };
}

/** The data of each event of a stream. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r/);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        else if (line === "" && data.length) {
          yield data.join("\n");
          data = [];
        }
      }
    }
  } finally {
    reader.releaseLock();
  }
}
