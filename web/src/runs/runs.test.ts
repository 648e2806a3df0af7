import { expect, test } from "vitest";
import type { FactorWindows, RunSummary } from "../api";
import { ago, find, lastRuns, median, minute, programOf, programs, shareOf } from "./runs";

const run = (program: string, started: string, more: Partial<RunSummary> = {}) => ({ id: program + started,
  program, args: [], started, state: "done", nodes: 1, workers: 1, wall_ns: 1, events: 1, lost: 0, bytes: 1,
  path: `/runs/${programOf({ program })}.trace`, version: 1, removable: false, ...more }) as RunSummary;
const list = [run("a/mxm.fa", "2026-01-03T00:00:00Z", { args: ["8", "100"] }),
  run("heat.fa", "2026-01-02T00:00:00Z"), run("mxm.fa", "2026-01-01T00:00:00Z", { state: "failed" }),
  run("mxm.fa", "")];

test("all words must fit, in the program, its arguments, the state or the folder", () => {
  expect(find(list, " MXM  100 ", () => "").map((r) => r.started)).toEqual(["2026-01-03T00:00:00Z"]);
  expect(find(list, "failed", (r) => r.state)).toEqual([list[2]]);
  expect(find(list, "", () => "")).toEqual(list);
  expect(find(list, "mxm heat", () => "")).toEqual([]);
});

test("the last runs of a program, the oldest first", () => {
  expect(programs(list)).toEqual([{ name: "mxm", runs: 3 }, { name: "heat", runs: 1 }]);
  expect(lastRuns(list, "mxm", 2)).toEqual([list[2], list[0]]);
  expect(lastRuns(list, "mxm", 50)).toEqual([list[3], list[2], list[0]]);
});

test("shares of what is known", () => {
  const f = { rows: ["U", "S", "L", "O", "W", "loss", "undivided"], sum: [60, 20, 0, 20, 0, 50, 50] };
  expect(shareOf(f as FactorWindows, "U")).toBe(0.6);
  expect(shareOf({ ...f, sum: [0, 0, 0, 0, 0, 9, 9] } as FactorWindows, "U")).toBeNull();
});

test("medians and ages", () => {
  expect([median([]), median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([null, 2, 2.5]);
  expect([ago(0, "en"), ago(90 * minute, "en"), ago(49 * 60 * minute, "ru")])
    .toEqual(["0 seconds ago", "1 hour ago", "2 дня назад"]);
});
