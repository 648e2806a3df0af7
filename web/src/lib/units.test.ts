import { expect, test } from "vitest";
import { formatBytes, formatCount, formatDecimal, formatDuration, formatMoment, formatShare, formatValue, plural } from "./units";

test("times look as in the reports", () => {
  const want: Record<number, string> = { 0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 12345: "12.3 µs", 999_499: "999 µs", 999_500: "1.00 ms", 1_500_000: "1.50 ms", 100_000_000: "100 ms", 61_000_000_000: "61.0 s", 123456789012: "123 s" };
  for (const [ns, text] of Object.entries(want)) expect(formatDuration(Number(ns), "en")).toBe(text);
  expect(formatDuration(-1500, "en")).toBe("-1.50 µs");
  expect(formatDuration(1500, "ru")).toBe("1,50 мкс");
});

test("sizes look as in the reports", () => {
  const want: [number, string][] = [[0, "0 bytes"], [1, "1 byte"], [999, "999 bytes"], [1500, "1.5 KB"], [2_000_000, "2.0 MB"], [3e9, "3.0 GB"], [4e12, "4.0 TB"], [5e15, "5000.0 TB"], [-1500, "-1.5 KB"]];
  for (const [n, text] of want) expect(formatBytes(n, "en")).toBe(text);
  expect([1, 2, 5, 21].map((n) => formatBytes(n, "ru"))).toEqual(["1 байт", "2 байта", "5 байт", "21 байт"]);
});

test("numbers", () => {
  expect(formatCount(1234567, "en")).toBe("1\u202f234\u202f567");
  expect(formatCount(999, "en")).toBe("999");
  expect(formatDecimal(0, "en")).toBe("0");
  expect(formatDecimal(12.345, "ru")).toBe("12,3");
  expect(formatShare(0.123, "en")).toBe("12.3 %");
  expect(formatShare(NaN, "en")).toBe("0.0 %");
  expect(formatValue(1500, "bytes/s", "en")).toBe("1.5 KB/s");
  expect(formatMoment(201_391_000, { ns: 1e6, unit: "ms", digits: 3 }, "ru")).toBe("201,391 мс");
});

test("forms of words", () => {
  const ru = (n: number) => plural(n, "ru", "узел", "узла", "узлов");
  expect([0, 1, 2, 4, 5, 11, 12, 14, 21, 22, 111, 101].map(ru)).toEqual(["узлов", "узел", "узла", "узла", "узлов", "узлов", "узлов", "узлов", "узел", "узла", "узлов", "узел"]);
  expect([0, 1, 2].map((n) => plural(n, "en", "node", "", "nodes"))).toEqual(["nodes", "node", "nodes"]);
});
