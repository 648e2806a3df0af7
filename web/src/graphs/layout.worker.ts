import { layered } from "./layout";
import { nested } from "./nested";
import type { Task } from "./worker";

self.onmessage = (e: MessageEvent<{ id: number; input: Task }>) => {
  const { id, input } = e.data;
  try {
    self.postMessage({ id, layout: "boxes" in input ? nested(input) : layered(input) });
  } catch (err) {
    self.postMessage({ id, error: String(err) });
  }
};
