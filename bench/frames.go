package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// quantile is the least value that a share q of a sample, from 0 to 1, does not exceed; NaN for an empty one.
func quantile(s []float64, q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	s = slices.Sorted(slices.Values(s))
	return s[min(max(int(math.Ceil(q*float64(len(s))))-1, 0), len(s)-1)]
}

// moving makes n frames: before each the mouse wheel turns, as move(i) tells with the keys held, so that what
// is in sight moves. It yields how long it was from frame to frame, in ms.
const moving = `(async (n, move) => {
  const lanes = document.querySelector(".lanes [role=application], .lanes[role=application]"), r = lanes.getBoundingClientRect();
  const gaps = [];
  bench.draws.length = 0;
  for (let i = 0, last = 0; i < n; i++) {
    const now = await new Promise(requestAnimationFrame);
    if (last) gaps.push(now - last);
    last = now;
    lanes.dispatchEvent(new WheelEvent("wheel", {bubbles: true, cancelable: true, clientX: r.left + r.width / 2, clientY: r.top + 100, ...move(i)}));
  }
  await new Promise((f) => setTimeout(f, 300));
  return {gaps, draws: bench.draws.slice()};
})`

// near pans and zooms a little around what is in sight at first, far from there to single CFs and back.
const (
	near = `(i) => i % 40 < 20 ? {shiftKey: true, deltaY: i % 20 < 10 ? 6 : -6} : {ctrlKey: true, deltaY: i % 20 < 10 ? -2 : 2}`
	far  = `(i) => i % 200 < 190 ? {ctrlKey: true, deltaY: i % 200 < 95 ? -30 : 30} : {shiftKey: true, deltaY: i % 10 < 5 ? 20 : -20}`
)

// plainly draws all boxes of the run that are in sight as rectangles, n times, without tiles: what a page
// would do that has all of them. It yields the ms of each.
const plainly = `(async (id, wall, slices, n, visible) => {
  const lane = [], start = [], end = [], color = [];
  const names = new Map();
  const take = (d, from, to, of) => {
    for (let i = 0; i < d.lane.length; i++) {
      if (d.start[i] < from || d.start[i] >= to) continue;
      lane.push(d.lane[i]); start.push(d.start[i]); end.push(d.end[i]);
      const key = of(i);
      if (!names.has(key)) names.set(key, "hsl(" + names.size * 47 % 360 + " 60% 60%)");
      color.push(names.get(key));
    }
  };
  for (let s = 0; s < slices; s++) {
    const from = Math.round(wall / slices * s), to = Math.round(wall / slices * (s + 1));
    const b = await (await fetch("/api/runs/" + id + "/boxes?from=" + from + "&to=" + to + "&limit=100000")).json();
    if (b.more) throw new Error(b.more + " boxes in a part");
    take(b.cfs, from, to, (i) => b.cfs.code[i]);
    take(b.gaps, from, to, (i) => b.gaps.factor[i]);
  }
  const t0 = new Float64Array(start), t1 = new Float64Array(end), lanes = Math.max(...new Set(lane)) + 1;
  const canvas = document.createElement("canvas");
  document.body.append(canvas);
  canvas.style.position = "fixed"; canvas.style.inset = "0";
  [canvas.width, canvas.height] = [1280, 700];
  const g = canvas.getContext("2d");
  const draws = [], gaps = [];
  let seen = 0, last = 0;
  const frame = (i) => {
    const from = visible[0] + (i % 5) * (visible[1] - visible[0]) / 200, to = visible[1] + (i % 5) * (visible[1] - visible[0]) / 200;
    const scale = 1280 / (to - from), h = 700 / lanes;
    seen = 0;
    g.clearRect(0, 0, 1280, 700);
    for (let k = 0; k < t0.length; k++) {
      if (t1[k] < from || t0[k] > to) continue;
      seen++;
      g.fillStyle = color[k];
      g.fillRect((t0[k] - from) * scale, lane[k] * h, Math.max((t1[k] - t0[k]) * scale, 0.3), h - 2);
    }
  };
  window.plain = async () => {
    for (let i = 0; i < n; i++) {
      const now = await new Promise(requestAnimationFrame);
      if (last) gaps.push(now - last);
      last = now;
      const began = performance.now();
      frame(i);
      draws.push(performance.now() - began);
    }
    await new Promise(requestAnimationFrame);
    return {gaps, draws, seen};
  };
  return t0.length;
})`

// moved is what a series of frames took, in ms.
type moved struct {
	Gaps, Draws []float64
	Seen        float64
	busy        float64 // of the main thread, per frame
}

// frames measures how long the timeline takes to draw while it is moved and zoomed.
func (b *bench) frames(ctx context.Context, browser context.Context, dir string) (err error) {
	s, err := b.serve(ctx, "view", "--no-browser", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	run, err := s.first(ctx)
	if err != nil {
		return err
	}
	var boxes struct{ More float64 }
	// Most of the run, so that there is room to move.
	from, to := run.WallNS*0.06, run.WallNS*0.94
	if err := s.get(ctx, fmt.Sprintf("/api/runs/%s/boxes?from=%.0f&to=%.0f&limit=1", run.ID, run.WallNS*0.1,
		run.WallNS*0.9), &boxes); err != nil {
		return err
	}
	t, closeTab, err := open(browser, fmt.Sprintf("%s/?run=%s&view=timeline&vis=%.0f-%.0f", s.url, run.ID, from,
		to), watching)
	if err != nil {
		return err
	}
	defer closeTab()
	if err := t.wait(`window.bench && bench.tiles > 0`); err != nil {
		return err
	}
	n := b.pick(400, 40)
	move := func(script string, args ...any) (m moved, err error) {
		fmt.Fprint(b.log, ".")
		before, _, err := t.busy()
		if err != nil {
			return m, err
		}
		if m, err = eval[moved](t, script, args...); err != nil {
			return m, err
		}
		after, _, err := t.busy()
		m.busy = (after - before) * 1e3 / float64(len(m.Gaps)+1)
		if err == nil && len(m.Draws) == 0 {
			err = errors.New("nothing was drawn")
		}
		return m, err
	}
	around := func(moves string) (moved, error) { return move("%s(%d, %s)", moving, n, moves) }
	if _, err := around(near); err != nil { // fetches the tiles
		return err
	}
	ready, err := around(near)
	if err != nil {
		return err
	}
	if _, err := eval[bool](t,
		`(document.querySelector(".lanes [role=application], .lanes[role=application]").dispatchEvent(new MouseEvent("dblclick", {bubbles: true, clientX: 5, clientY: 5})), true)`); err != nil {
		return err
	}
	deep, err := around(far)
	if err != nil {
		return err
	}
	known, err := around(far)
	if err != nil {
		return err
	}
	tiles, least, err := tileTimes(ctx, s, run, b.pick(300, 10))
	if err != nil {
		return err
	}
	// A page of the same server that shows nothing large.
	closeTab()
	if t, closeTab, err = open(browser, fmt.Sprintf("%s/?run=%s&view=links", s.url, run.ID), watching); err !=
		nil {
		return err
	}
	defer closeTab()
	if _, err := eval[float64](t, "%s(%q, %.0f, %d, %d, [%.0f, %.0f])", plainly, run.ID, run.WallNS,
		b.pick(100, 2), b.pick(15, 3), run.WallNS*0.1, run.WallNS*0.9); err != nil {
		return err
	}
	plain, err := move(`plain()`)
	if err != nil {
		return err
	}

	f := b.table("A frame of the timeline", fmt.Sprintf("%.3g million events of the Cholesky example, %.3g "+
		"million boxes (CFs and the gaps between them) always in sight, four lanes. Headless Chromium without a "+
		"GPU, 1280 x 800 pixels; the mouse wheel turns before every frame. Script time is for drawing the lanes; "+
		"the main thread also runs the "+
		"page's other scripts, lays out and paints.", run.Events/1e6, boxes.More/1e6),
		"", "script, ms, median", "goal", "95 % of frames", "ratio of medians", "main thread per frame, ms",
		"from frame to frame, ms, median", "95 %")
	row := func(name, goal string, m moved) {
		f.row(name, median(m.Draws), goal, quantile(m.Draws, 0.95), ratio(median(m.Draws)/median(ready.Draws)),
			m.busy, median(m.Gaps), quantile(m.Gaps, 0.95))
	}
	row("moved and zoomed, the tiles are there", "16", ready)
	row("zoomed to single CFs and back, tiles and boxes fetched meanwhile", "", deep)
	row("... once more", "", known)
	row(fmt.Sprintf("beside it: a rectangle for each of %.3g million boxes, no tiles", plain.Seen/1e6), "",
		plain)
	f.note("%d frames each, of the last row %d", n, len(plain.Draws))

	l := b.table("A tile from the server", fmt.Sprintf("%d new tiles of 512 columns, from the whole run down "+
		"to 1/4096 of it, in turn; for comparison the shortest answer, the list of runs. Wall time.", len(tiles)),
		"", "ms, median", "95 %", "ratio of medians", "longest")
	l.row("a tile", median(tiles), quantile(tiles, 0.95), ratio(median(tiles)/median(least)), longest(tiles))
	l.row("the list of runs", median(least), quantile(least, 0.95), ratio(1), longest(least))

	now, peak, err := s.memory()
	if err != nil {
		return err
	}
	b.tables[len(b.tables)-1].note("The server has %.0f bytes an event in memory then, and had %.0f at most",
		now/run.Events, peak/run.Events)
	return nil
}
