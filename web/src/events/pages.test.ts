import { expect, test, vi } from "vitest";
import { Pages, type Answer } from "./pages";

/** A list of numbers behind a server that answers on command. */
function setup(total: number, size = 10, keep = 4) {
  const state = { total, plus: 0, fail: false };
  const asked: number[] = [];
  let open: { offset: number; limit: number; done: (a: Answer<number>) => void; failed: (e: Error) =>
    void }[] = [];
  const changed = vi.fn();
  const pages = new Pages<number, Answer<number>>({
    size, keep, changed,
    ask: (offset, limit, signal) => {
      asked.push(offset / size);
      return new Promise((done, failed) => {
        const q = { offset, limit, done, failed };
        open.push(q);
        signal.addEventListener("abort", () => {
          open = open.filter((o) => o !== q);
          failed(new DOMException("", "AbortError"));
        });
      });
    },
  });
  const answer = async () => {
    const q = open.shift();
    if (state.fail) q?.failed(new Error("no"));
    else q?.done({ total: state.total, offset: q.offset,
      rows: Array.from({ length: Math.max(0, Math.min(q.limit, state.total - q.offset)) },
      (_, i) => q.offset + i + state.plus) });
    await Promise.resolve();
    await Promise.resolve();
    return q !== undefined;
  };
  const settle = async () => {
    while (await answer());
  };
  return { pages, state, asked, changed, answer, settle, open: () => open.length };
}

test("asks for what is in sight, one page at a time, the middle first", async () => {
  const s = setup(1000);
  s.pages.want(95, 125);
  expect(s.open()).toBe(1);
  await s.settle();
  expect(s.asked.sort((a, b) => a - b)).toEqual([9, 10, 11, 12]);
  expect(s.asked.length).toBe(4);
  expect(s.pages.row(95)).toBe(95);
  expect(s.pages.row(124)).toBe(124);
  expect(s.pages.row(5)).toBeUndefined();
  expect(s.pages.total).toBe(1000);
});

test("fast scrolling leaves no queue", async () => {
  const s = setup(1_000_000);
  s.pages.want(0, 10);
  await s.settle();
  for (let i = 0; i < 1000; i += 10) s.pages.want(i * 100, i * 100 + 10);
  await s.settle();
  expect(s.asked.length).toBe(3); // the first, the one in flight, the last
  expect(s.pages.row(99_005)).toBe(99_005);
});

test("keeps so many pages, those used last", async () => {
  const s = setup(1000);
  for (const at of [0, 10, 20, 30, 40]) {
    s.pages.want(at, at + 10);
    await s.settle();
  }
  expect(s.pages.row(0)).toBeUndefined();
  expect(s.pages.row(45)).toBe(45);
});

test("a newer version: what is here is shown until its answer is", async () => {
  const s = setup(25);
  s.pages.want(0, 25);
  await s.settle();
  s.state.plus = 100;
  s.state.total = 30;
  s.pages.refresh();
  expect(s.pages.row(3)).toBe(3);
  await s.settle();
  expect(s.pages.row(3)).toBe(103);
  expect(s.pages.total).toBe(30);
});

test("another question: nothing old is shown, late answers are dropped", async () => {
  const s = setup(25);
  s.pages.want(0, 10);
  s.pages.reset();
  s.state.total = 3;
  await s.settle();
  expect(s.pages.total).toBe(3);
  expect(s.pages.row(3)).toBeUndefined();
  s.pages.reset();
  expect(s.pages.total).toBe(0);
});

test("an error is told once and asked again when something changes", async () => {
  const s = setup(100);
  s.state.fail = true;
  s.pages.want(0, 10);
  await s.settle();
  expect(s.asked.length).toBe(1);
  expect(s.changed.mock.calls[0][1]).toBeInstanceOf(Error);
  s.state.fail = false;
  s.pages.want(0, 10);
  await s.settle();
  expect(s.pages.row(9)).toBe(9);
});

test("nothing is asked behind the end", async () => {
  const s = setup(12);
  s.pages.want(0, 10);
  await s.settle();
  s.pages.want(500, 510);
  await s.settle();
  expect(s.asked).toEqual([0]);
});
