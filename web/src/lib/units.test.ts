import { expect, test } from "vitest";
import examples from "./units.examples.json";
import {
  formatBytes, formatCount, formatDecimal, formatDuration, formatMoment, formatNumber, formatPercent,
    formatValue,
  type Lang, type Noun,
} from "./units";

test("values look as Go writes them", () => {
  const ways: Record<string, (of: number[], lang: Lang) => string> = {
    duration: ([ns], lang) => formatDuration(ns, lang),
    bytes: ([n], lang) => formatBytes(n, lang),
    percent: ([part, whole], lang) => formatPercent(part, whole, lang),
  };
  for (const [lang, what, of, want] of examples as [Lang, string, number[], string][]) {
    const way = ways[what] ?? (([n]: number[]) => formatNumber(n, what as Noun, lang));
    expect(way(of, lang), `${lang} ${what} ${of}`).toBe(want);
  }
  expect(examples.length).toBeGreaterThan(1000);
});

test("numbers that only the page writes", () => {
  expect(formatCount(1234567, "en")).toBe("1\u202f234\u202f567");
  expect(formatCount(999, "en")).toBe("999");
  expect(formatDecimal(0, "en")).toBe("0");
  expect(formatDecimal(12.345, "ru")).toBe("12,3");
  expect(formatBytes(1.5, "ru")).toBe("1,5 байта");
  expect(formatPercent(NaN, 1, "en")).toBe("0.0 %");
  expect(formatValue(0.123, "share", "en")).toBe("12.3 %");
  expect(formatValue(1500, "bytes/s", "en")).toBe("1.5 KB/s");
  expect(formatMoment(201_391_000, { unit: 2, digits: 3 }, "ru")).toBe("201,391 мс");
  expect(formatNumber(12_345, "CF", "en")).toBe("12\u202f345 CFs");
});
