import { expect, test } from "vitest";
import { format, parse, start, type Place } from "./url";

const places: Place[] = [
  start(),
  { ...start(), run: "74a92d9d9f5a", view: "timeline", t: 12, sel: [3, 9], vis: [0, 1_000_000_000_000],
    follow: true, speed: 0.01, lang: "ru", theme: "dark" },
  { ...start(), run: "a b/c&d", pick: { kind: "link", key: "0->1" }, filters: { node: "3",
    "events.text": "x[1] = a&b + ё%", code: "f" } },
  { ...start(), pick: { kind: "code", key: "a:b\nc" } },
];

test("an address gives back what it was made from", () => {
  for (const p of places) expect(parse(format(p))).toEqual(p);
});

test("what is as by default is not in the address", () => {
  expect(format(start())).toBe("");
  expect(format({ ...start(), run: "r" })).toBe("?run=r");
});

test("addresses stay readable", () => {
  expect(format({ ...start(), view: "nodes", pick: { kind: "cf", key: "0.17" },
    filters: { "nodes.plots": "bytes,running" } }))
    .toBe("?view=nodes&pick=cf:0.17&f.nodes.plots=bytes,running");
});

test("what is wrong in an address counts as not there", () => {
  for (const bad of ["?view=none", "?t=-1", "?t=1e9", "?t=99999999999999999", "?sel=9-3", "?sel=1-2-3",
    "?vis=a-b", "?pick=x:1", "?pick=cf:", "?lang=de", "?theme=pink", "?speed=-1", "?speed=x", "?f.=1",
    "?f.node=", "?%", "?&&=", "#"])
    expect(parse(bad), bad).toEqual(start());
});

test("any text is read without an error, and what was read can be written", () => {
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const bits = ["run=", "view=timeline", "t=", "sel=", "vis=", "pick=", "f.", "=", "&", "-", ":", "cf", "%",
    "%zz", "%F0", "1", "99", "ё", "\u0000", "+", " "];
  for (let i = 0; i < 1000; i++) {
    const text = "?" + Array.from({ length: random(12) }, () => bits[random(bits.length)]).join("");
    const p = parse(text);
    expect(parse(format(p))).toEqual(p);
  }
});
