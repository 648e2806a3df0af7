import { expect, test } from "vitest";
import { events, url } from "./client";

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
  expect(await read('data: {"a":1}\n\n', ": still here\n\n", "event: x\ndata: 2\ndata: 3\n\n")).toEqual(['{"a":1}', "2\n3"]);
  expect(await read("da", "ta:x", "\n", "\nda", "ta: y\r\n\r\ndata: not ended")).toEqual(["x", "y"]);
  const [first, second] = [new TextEncoder().encode("data: ё\n\n")].flatMap((b) => [b.slice(0, 7), b.slice(7)]);
  const body = new ReadableStream<Uint8Array>({ start: (c) => (c.enqueue(first), c.enqueue(second), c.close()) });
  const out: string[] = [];
  for await (const e of events(body)) out.push(e);
  expect(out).toEqual(["ё"]);
});

test("addresses leave out what is not given", () => {
  expect(url("/api/x")).toBe("/api/x");
  expect(url("/api/x", { from: 0, to: 12.6, a: null, b: undefined, c: "", d: "1&2", e: false })).toBe("/api/x?from=0&to=13&d=1%262&e=false");
});
