import { expect, test } from "vitest";
import { ofTasks } from "./terms.svelte";

test("OpenMP's words, and the program's own names", () => {
  expect(ofTasks("CFs", "en")).toBe("Tasks");
  expect(ofTasks("No CF ran on worker CF. DFs of a worker", "en", ["CF"]))
    .toBe("No CF ran on thread CF. Dependences of a thread");
  expect(ofTasks("3 CFs of code fragment worker", "en", ["worker", 3])).toBe("3 tasks of construct worker");
  expect(ofTasks("Рабочие потоки ждут рабочий поток 1", "ru")).toBe("Потоки ждут поток 1");
});
