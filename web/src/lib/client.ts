// Asking the server. A token is kept for the browser's tab only and sent as a header, never in an address.

import { app } from "./state.svelte";

export type Params = Record<string, string | number | boolean | null | undefined>;

/** What the server refused, in its words. status 0: it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

let token = "";
let ask: Promise<void> | undefined;
let asker: ((wrong: boolean) => Promise<string>) | undefined;

/** App gives what asks the user for the token. */
export function setAsker(f: typeof asker): void {
  asker = f;
}

/** Takes the token from the address ("?token=" or "#token="), from where it is removed, or from this tab's memory. */
export function takeToken(): void {
  const query = new URLSearchParams(location.search);
  const hash = new URLSearchParams(location.hash.slice(1));
  const given = query.get("token") ?? hash.get("token");
  if (given) {
    sessionStorage.setItem("whyslow.token", given);
    query.delete("token");
    const rest = query.toString();
    history.replaceState(null, "", location.pathname + (rest ? "?" + rest : ""));
  }
  token = sessionStorage.getItem("whyslow.token") ?? "";
}

export function hasToken(): boolean {
  return token !== "";
}

/** An address with parameters; those that are null, undefined or "" are left out. */
export function url(path: string, params: Params = {}): string {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) if (v !== null && v !== undefined && v !== "") q.set(name, typeof v === "number" ? String(Math.round(v)) : String(v));
  const s = q.toString();
  return s ? `${path}?${s}` : path;
}

/** The path of a query of the current run. */
export function runPath(rest = ""): string {
  return `/api/runs/${encodeURIComponent(app.run)}${rest ? "/" + rest : ""}`;
}

/** Asks, with the token; asks the user for it where the server wants one. */
export async function request(path: string, params?: Params, signal?: AbortSignal, accept = "application/json"): Promise<Response> {
  for (let wrong = false; ; ) {
    const sent = token;
    let answer: Response;
    try {
      answer = await fetch(url(path, params), { signal, headers: { Accept: accept, ...(sent ? { Authorization: `Bearer ${sent}` } : {}) } });
    } catch (e) {
      if (signal?.aborted) throw e;
      throw new ApiError(0, "");
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && asker) {
      if (sent === token) {
        ask ??= asker(wrong || sent !== "").then((given) => {
          token = given;
          sessionStorage.setItem("whyslow.token", given);
          ask = undefined;
        });
        await ask;
      }
      wrong = true;
      continue;
    }
    let message = `${answer.status} ${answer.statusText}`;
    try {
      const body = await answer.json();
      if (typeof body.error === "string") message = body.error;
    } catch {
      // not every answer is ours: a proxy's has no JSON
    }
    throw new ApiError(answer.status, message);
  }
}

export async function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return (await request(path, params, signal)).json();
}

export async function getBinary(path: string, params?: Params, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await request(path, params, signal, "application/octet-stream")).arrayBuffer();
}

/**
 * Listens to server-sent events and calls f with each one's data until stop is called; connects again when the connection
 * is lost. EventSource cannot send a token. A page that is not seen does not listen: that would cost the run for nothing, and
 * a browser has six connections per server.
 */
export function listen<T>(path: string, f: (data: T) => void, status: (connected: boolean) => void): () => void {
  let control: AbortController | undefined;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = async () => {
    if (stopped || control || document.hidden) return;
    const own = (control = new AbortController());
    let wait = 1000;
    try {
      const answer = await request(path, undefined, own.signal, "text/event-stream");
      status(true);
      for await (const data of events(answer.body!)) f(JSON.parse(data));
    } catch (e) {
      if (e instanceof ApiError && e.status >= 400 && e.status < 500) wait = 10_000;
    }
    if (control === own) control = undefined;
    if (stopped || own.signal.aborted) return;
    status(false);
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
