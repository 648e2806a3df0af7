import { expect, test } from "vitest";
import { meaning, table, type Name } from "./keys";

const none = { key: "", code: "", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };

test("every key of the table has one meaning", () => {
  for (const [name, k] of Object.entries(table) as [Name, { codes?: string[]; keys?: string[]; shift?: boolean
    }][]) {
    for (const code of k.codes ?? []) expect(meaning({ ...none, code, shiftKey: k.shift ?? false
      })).toBe(name);
    for (const key of k.keys ?? []) expect(meaning({ ...none, key, shiftKey: k.shift ?? false })).toBe(name);
  }
  expect(meaning({ ...none, code: "KeyW", ctrlKey: true })).toBeUndefined();
  expect(meaning({ ...none, key: "x", code: "KeyX" })).toBeUndefined();
});
