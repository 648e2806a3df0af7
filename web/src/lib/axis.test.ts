import { expect, test } from "vitest";
import { clampInterval, niceStep, pan, pinch, reveal, scaleOf, shortest, tickTimes, zoomAt } from "./axis";

test("steps are 1, 2 or 5 times a power of ten", () => {
  expect([0.3, 1, 1.5, 2, 3, 7, 10, 11, 450, 1e9].map(niceStep)).toEqual([1, 1, 2, 2, 5, 10, 10, 20, 500,
    1e9]);
});

test("ticks are at multiples of the step, within the axis and not too near each other", () => {
  for (const [from, to] of [[0, 1000], [123_456, 987_654_321], [1e12, 1e12 + 60], [0, 5]]) {
    const ticks = tickTimes(from, to, 1000);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThanOrEqual(12);
    for (const t of ticks) expect(t >= from && t <= to).toBe(true);
    const step = ticks[1] - ticks[0];
    for (const t of ticks) expect(t % step).toBe(0);
  }
  expect(tickTimes(5, 5, 100)).toEqual([]);
  expect(tickTimes(0, 5, 0)).toEqual([]);
});

test("labels have the digits their step needs", () => {
  expect(scaleOf(2e9, 5e8)).toMatchObject({ unit: 3, digits: 1 });
  expect(scaleOf(2e9, 1e6)).toMatchObject({ unit: 3, digits: 3 });
  expect(scaleOf(2e6, 1e6)).toMatchObject({ unit: 2, digits: 0 });
  expect(scaleOf(900, 100)).toMatchObject({ unit: 0, digits: 0 });
});

test("an interval stays within the run and is not shorter than can be shown", () => {
  expect(clampInterval([-50, 150], 1000)).toEqual([0, 200]);
  expect(clampInterval([900, 1100], 1000)).toEqual([800, 1000]);
  expect(clampInterval([500, 501], 1000)).toEqual([500, 500 + shortest]);
  expect(clampInterval([-5, 5000], 1000)).toEqual([0, 1000]);
  expect(clampInterval([0, 5], 1)).toEqual([0, shortest]);
});

test("zooming keeps the time under the mouse where it is", () => {
  const [from, to] = zoomAt([0, 1_000_000], 250_000, 0.5, 1_000_000);
  expect((250_000 - from) / (to - from)).toBeCloseTo(0.25, 5);
  expect(zoomAt([0, 1000], 500, 2, 1000)).toEqual([0, 1000]);
  expect(zoomAt([100, 200], 150, 1e-9, 1000)[1] - zoomAt([100, 200], 150, 1e-9, 1000)[0]).toBe(shortest);
});

test("moving stops at the ends", () => {
  expect(pan([100, 200], -500, 1000)).toEqual([0, 100]);
  expect(pan([100, 200], 5000, 1000)).toEqual([900, 1000]);
});

test("a time is brought into sight by moving as little as is needed", () => {
  expect(reveal([100, 200], 150, 1000)).toEqual([100, 200]);
  expect(reveal([100, 200], 400, 1000)).toEqual([310, 410]);
  expect(reveal([100, 200], 0, 1000)).toEqual([0, 100]);
  expect(reveal([0, 1000], 1000, 1000)).toEqual([0, 1000]);
  const [from, to] = reveal([500, 600], 420, 1000);
  expect([from, to]).toEqual([410, 510]);
});

test("two fingers keep the times under them", () => {
  const end = 1000_000;
  // Spread from a tenth apart to half: five times as near, and both times stay where the fingers are.
  expect(pinch({ t: 450_000, at: 0.25 }, { t: 550_000, at: 0.75 }, end)).toEqual([400_000, 600_000]);
  // Moved without spreading.
  expect(pinch({ t: 400_000, at: 0.3 }, { t: 500_000, at: 0.8 }, end)).toEqual([340_000, 540_000]);
  // Never beyond the run, nor shorter than can be shown, also when fingers pass each other.
  expect(pinch({ t: 0, at: 0.4 }, { t: end, at: 0.6 }, end)).toEqual([0, end]);
  const [from, to] = pinch({ t: 500, at: 0.9 }, { t: 501, at: 0.1 }, end);
  expect(to - from).toBe(100);
});
