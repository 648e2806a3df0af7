import { expect, test } from "vitest";
import { greatest, plotCSV, plotSVG, stack, windowAt, windowTimes, type PlotSeries } from "./plot";

const s = (name: string, values: (number | null)[]): PlotSeries => ({ name, label: name, color: "#123456",
  values });

test("stacked series are sums", () => {
  expect(stack([s("a", [1, 2]), s("b", [10, null]), s("c", [100, 200])], (x) => x.name !== "b")).toEqual([[1,
    2], [1, 2], [101, 202]]);
  expect(greatest([[1, null, 5], [3]])).toBe(5);
});

test("the window of a time", () => {
  const x = windowTimes(100, 10, 3);
  expect(x).toEqual([100, 110, 120]);
  expect([99, 100, 109, 110, 500].map((t) => windowAt(x, t))).toEqual([-1, 0, 0, 1, 2]);
  expect(windowAt([], 5)).toBe(-1);
});

test("a plot as a table and as a picture", () => {
  const series = [s("a <b>", [1, null, 3]), s("c", [0, 2, 1])];
  expect(plotCSV([0, 5, 10], series)).toBe("t_ns,a <b>,c\r\n0,1,0\r\n5,,2\r\n10,3,1\r\n");
  const svg = plotSVG([0, 5, 10], [s("c", [0, 2, 1])].map((x) => ({ ...x, label: "" })), {
    title: "<script>", from: 0, to: 15, most: 3, stacked: true, stepped: true, time: String, value: String,
    colors: { back: "#ffffff", text: "#000000", faint: "#888888", rule: "#dddddd" },
  } as never);
  expect(svg).toContain("<svg xmlns=");
  expect(svg).not.toContain("<script>");
  expect(svg).not.toContain("NaN");
});
