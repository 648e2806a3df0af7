import { expect, test, vi } from "vitest";
import { events, get, setAsker, url } from "./client";

async function read(...chunks: string[]): Promise<string[]> {
  const bytes = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      for (const s of chunks) c.enqueue(bytes.encode(s));
      c.close();
    },
  });
  const out: string[] = [];
  for await (const e of events(body)) out.push(e);
  return out;
}

test("events of a stream, however it is cut", async () => {
  expect(await read('data: {"a":1}\n\n', ": still here\n\n",
    "event: x\ndata: 2\ndata: 3\n\n")).toEqual(['{"a":1}', "2\n3"]);
  expect(await read("da", "ta:x", "\n", "\nda", "ta: y\r\n\r\ndata: not ended")).toEqual(["x", "y"]);
  const [first, second] = [new TextEncoder().encode("data: ё\n\n")].flatMap((b) => [b.slice(0, 7),
    b.slice(7)]);
  const body = new ReadableStream<Uint8Array>({ start: (c) => (c.enqueue(first), c.enqueue(second),
    c.close()) });
  const out: string[] = [];
  for await (const e of events(body)) out.push(e);
  expect(out).toEqual(["ё"]);
});

test("addresses leave out what is not given", () => {
  expect(url("/api/x")).toBe("/api/x");
  expect(url("/api/x", { from: 0, to: 12.6, a: null, b: undefined, c: "", d: "1&2",
    e: false })).toBe("/api/x?from=0&to=13&d=1%262&e=false");
});

test("the token is asked for once, whenever the refusals come", async () => {
  let given = false;
  let asked = 0;
  let late: (() => void) | undefined;
  setAsker(async (wrong) => (asked++, wrong ? "right" : "guess"));
  vi.stubGlobal("fetch", async (address: string) => {
    if (address.startsWith("/?token=")) {
      given = address.endsWith("right");
      return new Response("", { status: given ? 200 : 401 });
    }
    const answer = given ? Response.json(address) : new Response("{}", { status: 401 });
    // refused, and long on its way
    if (address === "/api/slow" && !late) await new Promise<void>((f) => (late = f));
    return answer;
  });
  const slow = get<string>("/api/slow");
  expect(await Promise.all([get("/api/a"), get("/api/b")])).toEqual(["/api/a", "/api/b"]);
  expect(asked).toBe(2);
  late!();
  expect(await slow).toBe("/api/slow");
  expect(asked).toBe(2);
  vi.unstubAllGlobals();
});
