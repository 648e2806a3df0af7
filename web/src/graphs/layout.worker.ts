import { layered, type LayoutInput } from "./layout";

self.onmessage = (e: MessageEvent<{ id: number; input: LayoutInput }>) => {
  try {
    self.postMessage({ id: e.data.id, layout: layered(e.data.input) });
  } catch (err) {
    self.postMessage({ id: e.data.id, error: String(err) });
  }
};
