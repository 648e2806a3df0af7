// Moves the cursor during playback.

import { reveal } from "./axis";
import { app } from "./state.svelte";

/** Call it once, while the page is created. */
export function play(): void {
  $effect(() => {
    if (!app.playing) return;
    let frame = 0;
    let last = performance.now();
    let t = app.now === null || app.now >= app.end ? 0 : app.now;
    let own: number | null = app.now;
    const step = (now: number) => {
      if (app.now !== own && app.now !== null) t = app.now; // the user has moved it
      t += (now - last) * 1e6 * app.speed;
      last = now;
      own = Math.min(Math.round(t), app.end);
      app.set({ t: own, ...(app.vis ? { vis: reveal(app.vis, own, app.end) } : {}) });
      if (t >= app.end) app.set({ playing: false });
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  });
}

export function toggle(): void {
  if (!app.playing && (app.now ?? 0) >= app.end) app.set({ t: 0 });
  app.set({ playing: !app.playing });
}
