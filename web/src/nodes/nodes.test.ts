import { describe, expect, test } from "vitest";
import { choice, chosen, numbers, ranges, toggled } from "./choice";
import { moved, places, steps, stretched } from "./window";

const all = ["bytes", "cfs", "running", "ready"];
const usual = ["bytes", "running"];

describe("a choice in the address", () => {
  test("is the usual one where nothing is said", () => expect(chosen(undefined, usual, all)).toEqual(usual));
  test("can be none", () => expect(chosen("-", usual, all)).toEqual([]));
  test("leaves out what there is not, in the order of all", () => expect(chosen("ready,nothing,cfs", usual,
    all)).toEqual(["cfs", "ready"]));
  test("that is the usual one is not written", () => expect(choice(["running", "bytes"], usual,
    all)).toBeNull());
  test("comes back as it was written", () => {
    for (let mask = 0; mask < 16; mask++) {
      const names = all.filter((_, i) => mask & (1 << i));
      expect(chosen(choice(names, usual, all) ?? undefined, usual, all)).toEqual(names);
    }
  });
  test("is switched by one", () => {
    expect(toggled(undefined, "cfs", usual, all)).toBe("bytes,cfs,running");
    expect(toggled("bytes,cfs,running", "cfs", usual, all)).toBeNull();
    expect(toggled("cfs", "cfs", usual, all)).toBe("-");
  });
});

describe("numbers in a list", () => {
  test("are read", () => expect(numbers("7, 0-2,1,x,9-3,300", 100)).toEqual([0, 1, 2, 7]));
  test("end where the nodes end", () => expect(numbers("2-999999", 4)).toEqual([2, 3]));
  test("are written short", () => expect(ranges([7, 1, 0, 2, 2, 9])).toBe("0-2,7,9"));
  test("come back as they were", () => expect(numbers(ranges([0, 3, 4, 5, 9]), 10)).toEqual([0, 3, 4, 5, 9]));
});

describe("the sliders", () => {
  const end = 1e9;
  test("of the whole run", () => expect(places([0, end], end)).toEqual({ start: 0, length: steps }));
  test("moving the start keeps the length", () => expect(moved([0, 1000], steps, end)).toEqual([end - 1000,
    end]));
  test("the length goes from the least to the whole", () => {
    expect(stretched([5, 10], steps, end)).toEqual([0, end]);
    expect(stretched([500, 5e8], 0, end)).toEqual([500, 550]);
  });
  test("stay where they are put", () => {
    for (const length of [0, 1, 250, 777, 1000]) expect(places(stretched([0, 1], length, end),
      end).length).toBe(length === 1 ? 1 : length);
    for (const start of [0, 500, 1000]) expect(places(moved([0, 1e8], start, end), end).start).toBe(start);
  });
  test("of a run shorter than what can be shown do not fail", () => {
    expect(places([0, 1], 1)).toEqual({ start: 0, length: steps });
    expect(stretched([0, 1], 500, 1)).toEqual([0, 1]);
  });
});
