import { expect, test } from "vitest";
import { boxesUpTo, edgesUpTo } from "./upto";

test("boxes and edges keep their places, with the numbers of the part", () => {
  const box = (id: string, count: number, bytes = 8) => ({ id, count, ns: 10 * count, bytes });
  expect(boxesUpTo([box("a", 5), box("b", 3)], [box("b", 1)])).toEqual([{ id: "a", count: 0, ns: 0,
    bytes: 0 }, box("b", 1)]);
  const edge = (to: string, count: number, kind: "in" | "out" = "in") => ({ from: "a", to, count, kind,
    bytes: count });
  expect(edgesUpTo([edge("b", 4), edge("b", 2, "out"), edge("c", 1)], [edge("b", 3)])).toEqual([edge("b", 3),
    edge("b", 0, "out"), edge("c", 0)]);
});
