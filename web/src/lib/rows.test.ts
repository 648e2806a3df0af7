import { expect, test } from "vitest";
import { compare, place, sorted } from "./rows";
import { csv } from "./save";

test("rows are sorted as people expect", () => {
  const rows = ["x[10]", "x[2]", "a", null, "x[1]"];
  expect(sorted(rows, (r) => r, false)).toEqual(["a", "x[1]", "x[2]", "x[10]", null]);
  expect(sorted(rows, (r) => r, true)).toEqual(["x[10]", "x[2]", "x[1]", "a", null]);
  expect(sorted([3, null, 10, 1], (r) => r, true)).toEqual([10, 3, 1, null]);
  const equal = [{ k: 1, n: 1 }, { k: 1, n: 2 }, { k: 0, n: 3 }];
  expect(sorted(equal, (r) => r.k, true).map((r) => r.n)).toEqual([1, 2, 3]);
  expect(compare(undefined, null)).toBe(0);
});

test("the scroll bar of a scaled list reaches its first and its last row", () => {
  expect(place(0, 1000, 5e6)).toBe(0);
  expect(place(1000, 1000, 5e6)).toBe(5e6);
  expect(place(1005, 1000, 5e6)).toBe(5e6);
  expect(place(10, 0, 5e6)).toBe(0);
});

test("CSV", () => {
  expect(csv([["a", 1, null, undefined], ['q"x', "b,c", "d\ne",
    true]])).toBe('a,1,,\r\n"q""x","b,c","d\ne",true\r\n');
  expect(csv([["=1+1", -5, "-5", "@x"]])).toBe("'=1+1,-5,'-5,'@x\r\n");
});
