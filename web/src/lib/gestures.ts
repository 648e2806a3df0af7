// The mouse and fingers on a time axis, the same in every plot and in the timeline. A click sets the cursor,
// a drag selects an interval, shift and drag (or the middle button) moves the axis, ctrl and wheel zooms,
// shift and wheel moves, a double click shows the whole run. One finger is a mouse; two move and zoom: the
// times under them stay under them.

import { pan, pinch, zoomAt } from "./axis";
import { app, type Interval } from "./state.svelte";

export interface Gestures {
  /** The part of the element that the axis takes, px from its left edge. */
  frame: () => { left: number; width: number };
  click?: (t: number, e: PointerEvent) => void; // instead of setting the cursor
  hover?: (t: number | null, e: PointerEvent) => void;
  wheel?: (e: WheelEvent) => boolean; // a wheel event without ctrl and shift; true: it was used
  dblclick?: (t: number, e: MouseEvent) => boolean;
  selecting?: (i: Interval | null) => void; // during a drag
}

/** An action for an element. */
export function gestures(el: HTMLElement, g: Gestures) {
  const time = (e: MouseEvent) => timeAt(e.clientX);
  const timeAt = (x: number) => {
    const [from, to] = app.visible;
    return Math.round(Math.min(Math.max(from + place(x) * (to - from), 0), app.end));
  };
  let down: { x: number; y: number; t: number; visible: Interval; moves: boolean; dragged: boolean }
    | undefined;

  // Fingers on the element, and the times that were under the two when the second came.
  const fingers = new Map<number, { x: number; t: number }>();
  const place = (x: number) => {
    const f = g.frame();
    return (x - el.getBoundingClientRect().left - f.left) / Math.max(f.width, 1);
  };
  const onFingers = () => {
    const [a, b] = [...fingers.values()].sort((p, q) => p.t - q.t);
    app.set({ vis: pinch({ t: a.t, at: place(a.x) }, { t: b.t, at: place(b.x) }, app.end) });
  };

  const onDown = (e: PointerEvent) => {
    if (e.pointerType === "touch" && !(e.target as Element).closest("button, a")) {
      fingers.set(e.pointerId, { x: e.clientX, t: time(e) });
      el.setPointerCapture(e.pointerId);
      if (fingers.size > 1) {
        for (const f of fingers.values()) f.t = timeAt(f.x);
        onCancel();
        return;
      }
    }
    if (e.button > 1 || (e.target as Element).closest("button, a")) return;
    if (e.button === 1) e.preventDefault();
    down = { x: e.clientX, y: e.clientY, t: time(e), visible: app.visible, moves: e.shiftKey ||
      e.button === 1, dragged: false };
    el.setPointerCapture(e.pointerId);
    el.focus({ preventScroll: true });
  };
  const onMove = (e: PointerEvent) => {
    const finger = fingers.get(e.pointerId);
    if (finger) finger.x = e.clientX;
    if (fingers.size === 2 && finger) return onFingers();
    g.hover?.(time(e), e);
    if (!down) return;
    if (!down.dragged && Math.abs(e.clientX - down.x) < 4) return;
    down.dragged = true;
    if (down.moves) {
      const width = down.visible[1] - down.visible[0];
      app.set({ vis: pan(down.visible, ((down.x - e.clientX) / Math.max(g.frame().width, 1)) * width,
        app.end) });
    } else g.selecting?.(order(down.t, time(e)));
  };
  const onUp = (e: PointerEvent) => {
    const was = down;
    down = undefined;
    fingers.delete(e.pointerId);
    if (!was) return;
    g.selecting?.(null);
    if (was.dragged && !was.moves) {
      const sel = order(was.t, time(e));
      if (sel[1] > sel[0]) app.set({ sel });
    } else if (!was.dragged && e.button === 0) (g.click ?? ((t: number) => app.set({ t })))(time(e), e);
  };
  const onCancel = (e?: PointerEvent) => {
    if (e) fingers.delete(e.pointerId);
    down = undefined;
    g.selecting?.(null);
  };
  const onWheel = (e: WheelEvent) => {
    const turn = e.deltaMode === 1 ? 33 : 1;
    if (e.ctrlKey || e.metaKey) app.set({ vis: zoomAt(app.visible, time(e), Math.exp((e.deltaY * turn) / 300),
      app.end) });
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      const [from, to] = app.visible;
      app.set({ vis: pan(app.visible, (((e.deltaX || e.deltaY) * turn) / Math.max(g.frame().width,
        1)) * (to - from), app.end) });
    } else if (!g.wheel?.(e)) return;
    e.preventDefault();
  };
  const onDouble = (e: MouseEvent) => {
    if ((e.target as Element).closest("button, a")) return;
    if (!g.dblclick?.(time(e), e)) app.fit();
  };
  const onLeave = (e: PointerEvent) => g.hover?.(null, e);

  const listeners: [string, EventListener][] = [
    ["pointerdown", onDown as EventListener],
    ["pointermove", onMove as EventListener],
    ["pointerup", onUp as EventListener],
    ["pointercancel", onCancel as EventListener],
    ["pointerleave", onLeave as EventListener],
    ["dblclick", onDouble as EventListener],
    ["wheel", onWheel as EventListener],
  ];
  for (const [name, f] of listeners) el.addEventListener(name, f, { passive: false });
  return {
    destroy() {
      for (const [name, f] of listeners) el.removeEventListener(name, f);
    },
  };
}

function order(a: number, b: number): Interval {
  return a < b ? [a, b] : [b, a];
}
