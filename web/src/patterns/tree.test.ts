import { describe, expect, it } from "vitest";
import type { Patterns } from "../api";
import { above, byThread, callName, lockName, ownOfMetrics, rootOf, rows, severity, subtrees, system,
  type Item } from "./tree";

const item = (parent: number): Item => ({ parent, name: "", tip: "" });
const metric = (id: string, parent: number, list: [number, number[]][], unit = "ns") => ({ id, name: id,
  parent, unit, doc: "", rows: list.map(([call, values]) => ({ call, values })) }) as Patterns["metrics"][0];
const thread = (node: number, stream = 0, host = "") => ({ node, stream, host, calls: 0, syncs: 0, puts: 0,
  gets: 0, sends: 0, receives: 0, atomics: 0, sent: 0, received: 0 });

// main calls a twice (two places) and b, which calls a.
const p = {
  metrics: [
    metric("time", -1, [[0, [10, 20]], [1, [5, 5]], [2, [1, 2]], [3, [4, 0]]]),
    metric("sync", 0, [[1, [5, 5]], [3, [4, 0]]]),
    metric("wait", 1, [[1, [0, 3]]]),
    metric("visits", -1, [[0, [1, 1]]], "occ"),
  ],
  regions: [{ name: "main", kind: "function" }, { name: "a", kind: "barrier" },
    { name: "b", kind: "function" }],
  calls: [{ parent: -1, region: 0 }, { parent: 0, region: 1, file: "/x/is.c", line: 12 },
    { parent: 0, region: 2 }, { parent: 2, region: 1 }],
  threads: [thread(0), thread(1)],
  late: [], locks: [], collectives: [], transfers: [], problems: [],
} as unknown as Patterns;

describe("amounts in trees", () => {
  it("what is closed shows all below it, what is open its own", () => {
    const items = [item(-1), item(0), item(1), item(0), item(-1)];
    const own = [1, 2, 4, 8, 16];
    expect(subtrees(items, own)).toEqual([15, 6, 4, 8, 16]);
    const list = (open: number[]) => rows(items, own, new Set(open)).map((r) => [r.item, r.depth, r.value,
      r.open, r.leaf]);
    expect(list([])).toEqual([[0, 0, 15, false, false], [4, 0, 16, false, true]]);
    expect(list([0])).toEqual([[0, 0, 1, true, false], [1, 1, 6, false, false], [3, 1, 8, false, true],
      [4, 0, 16, false, true]]);
    // The visible rows always add up to everything. A leaf cannot be open.
    for (let open = 0; open < 32; open++) {
      const set = [0, 1, 2, 3, 4].filter((i) => (open >> i) & 1);
      expect(rows(items, own, new Set(set)).reduce((n, r) => n + r.value, 0)).toBe(31);
    }
  });
  it("metrics contain their children, call paths do not", () => {
    expect(ownOfMetrics(p)).toEqual([47 - 14, 14 - 3, 3, 2]);
    expect(severity(p, 1, false)).toEqual([[0, 0], [5, 5], [0, 0], [4, 0]]);
    expect(severity(p, 1, true)).toEqual([[0, 0], [5, 2], [0, 0], [4, 0]]);
    expect(rootOf(p, 2)).toBe(0);
    expect(rootOf(p, 3)).toBe(3);
    const all = severity(p, 0, false);
    expect(byThread(p, all, 0, false)).toEqual([20, 27]);
    expect(byThread(p, all, 0, true)).toEqual([10, 20]);
    expect(byThread(p, all, 2, false)).toEqual([5, 2]);
  });
  it("names", () => {
    expect(callName(p, 1)).toBe("main > a, is.c:12");
    expect(callName(p, 3)).toBe("main > b > a");
    const lock = { id: 77, name: "queue_lock", file: "/x/queue.c",
      line: 12 } as NonNullable<Patterns["locks"]>[0];
    expect(lockName(lock)).toBe("queue_lock, queue.c:12");
    expect(lockName({ ...lock, name: "0x4d", file: undefined, line: undefined })).toBe("0x4d");
    expect(above([item(-1), item(0), item(1)], 2)).toEqual([2, 1, 0]);
  });
  it("threads below hosts and nodes, where there are several", () => {
    const names = (threads: ReturnType<typeof thread>[]) => {
      const s = system({ ...p, threads }, (n) => `node ${n}`, (n, k) => `thread ${n}.${k}`);
      s.items.forEach((x, i) => expect(x.parent).toBeLessThan(i));
      return s.items.map((x, i) => `${x.parent}:${x.name}=${s.thread[i]}`);
    };
    expect(names([thread(0), thread(1)])).toEqual(["-1:node 0=0", "-1:node 1=1"]);
    expect(names([thread(0, 0, "a"), thread(1, 0, "b"), thread(2, 0, "a")])).toEqual(["-1:a=-1", "0:node 0=0",
      "0:node 2=2", "-1:b=-1", "3:node 1=1"]);
    expect(names([thread(0, 0), thread(0, 1), thread(1)])).toEqual(["-1:node 0=-1", "0:thread 0.0=0",
      "0:thread 0.1=1", "-1:node 1=2"]);
  });
});
