import { expect, test } from "vitest";
import { after, nearest } from "./player.svelte";

test("playback stops at the end, or begins again in a loop", () => {
  expect(after(10, 5, [0, 100], false)).toEqual({ t: 15, stops: false });
  expect(after(98, 5, [0, 100], false)).toEqual({ t: 100, stops: true });
  expect(after(98, 5, [20, 100], true)).toEqual({ t: 23, stops: false });
  expect(after(22, -5, [20, 100], true)).toEqual({ t: 97, stops: false });
  expect(after(30, 1670, [20, 100], true)).toEqual({ t: 20 + 1600 % 80, stops: false });
  expect(after(30, -1630, [20, 100], true)).toEqual({ t: 80, stops: false });
  expect(after(3, -5, [0, 100], false)).toEqual({ t: 0, stops: true });
  for (const t of [0, 100]) expect(after(t, 0, [0, 100], false)).toEqual({ t, stops: false });
});

test("the nearest event is that of a plain search", async () => {
  const times = [0, 3, 3, 4, 50, 51, 900, 1000];
  let asked = 0;
  const source = async ({ from, to, offset }: { from: number; to: number; offset: number }) => {
    const rows = times.filter((t) => t >= from && t <= to).map((t) => ({ t }));
    // An answer may come before everything was looked at.
    return asked++ % 17 === 0 ? { total: 0, scanned: 0.5, rows: [] } : { total: rows.length, scanned: 1,
      rows: rows.slice(offset, offset + 1) };
  };
  for (let t = -1; t <= 1001; t += 77) {
    expect(await nearest(source, t, 1, 1000, 2)).toBe(times.find((x) => x > t) ?? null);
    expect(await nearest(source, t, -1, 1000, 2)).toBe(times.findLast((x) => x < t) ?? null);
  }
});
