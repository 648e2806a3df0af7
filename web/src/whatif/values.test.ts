import { expect, test } from "vitest";
import { counts, decades, nearest, readSpeeds, writeSpeeds } from "./values";

test("sliders go through round values", () => {
  expect(counts(16)).toEqual([1, 2, 3, 4, 6, 8, 12, 16]);
  expect(decades(0.1, 10)).toEqual([0.1, 0.2, 0.5, 1, 2, 5, 10]);
  expect(nearest([1, 2, 4], 3.5)).toBe(2);
  expect(nearest([1, 2, 4], 100)).toBe(2);
});

test("speeds survive the address", () => {
  expect(readSpeeds("step=2,larger=0.5")).toEqual({ step: 2, larger: 0.5 });
  expect(writeSpeeds({ step: 2, larger: 0.5 })).toBe("larger=0.5,step=2");
  expect(readSpeeds("step,=2,x=no")).toEqual({});
  expect(writeSpeeds({})).toBe(null);
});
