package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/whyslow/whyslow/internal/testkit/chromium"
)

// following plays for so many ms, and notes from frame to frame how long it was, and how old what a view
// shows is: the time since the newest answer about the cursor's moment was asked for. It yields ms.
const following = `(async (ms) => {
  const fetched = window.fetch, gaps = [], ages = [];
  let newest = 0, asked = 0;
  window.fetch = async (where, how) => {
    const at = performance.now(), answer = await fetched(where, how);
    if (!/[?&](t|to)=/.test(String(where))) return answer;
    asked++;
    const json = answer.json.bind(answer);
    answer.json = async () => { const v = await json(); newest = Math.max(newest, at); return v; };
    return answer;
  };
  document.querySelector('.player button[aria-label="Play"]').click();
  const began = performance.now();
  for (let last = 0, now = began; now - began < ms; ) {
    now = await new Promise(requestAnimationFrame);
    if (last) gaps.push(now - last);
    last = now;
    if (newest) ages.push(performance.now() - newest);
  }
  document.querySelector('.player button[aria-label="Pause"]').click();
  window.fetch = fetched;
  return {gaps, ages, asked: asked / ms * 1e3};
})`

// playedViews are the views that follow the cursor.
var playedViews = []struct{ name, query string }{
	{"timeline", "view=timeline"}, {"nodes", "view=nodes"}, {"links and matrix", "view=links"},
	{"graph of nodes", "view=graphs"}, {"program over the nodes", "view=graphs&f.graphs.what=moment"},
	{"list of events", "view=events"}, {"memory", "view=memory"},
}

// benchPlaying measures how smoothly ten million events are played: in each view, slowly and fast.
func benchPlaying(ctx context.Context, b *bench) (err error) {
	browser, end, err := chromium.Start(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		b.table("Playing", "", "", "ms").missing("playing", "there is no Chromium (`make tools`)")
		return nil
	}
	if err != nil {
		return err
	}
	defer end()
	dir, err := b.cholesky(ctx, b.pick(132, 30), 4, 1)
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, "view", "--no-browser", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	run, err := s.first(ctx)
	if err != nil {
		return err
	}
	t := b.table("Playing", fmt.Sprintf("%.3g million events of the Cholesky example on four nodes, %.2g s, "+
		"played again and again for %d s at each speed. Headless Chromium without a GPU, 1280 x 800 pixels. The "+
		"age of a view is the time since its newest answer was asked for; the timeline draws the cursor itself.",
		run.Events/1e6, run.WallNS/1e9, b.pick(3, 1)),
		"", "from frame to frame, ms, median", "95 %", "age of what is shown, ms, median", "95 %",
		"answers a second")
	for _, v := range playedViews {
		for _, speed := range []string{"0.001", "1", "1000"} {
			m, err := b.played(browser, fmt.Sprintf("%s/?run=%s&%s&lang=en&speed=%s&f.play.loop=1", s.url, run.ID,
				v.query, speed))
			if err != nil {
				return fmt.Errorf("%s at %s: %w", v.name, speed, err)
			}
			age := []any{"", "", ""}
			if len(m.Ages) > 0 {
				age = []any{median(m.Ages), quantile(m.Ages, 0.95), m.Asked}
			}
			t.row(v.name+", ×"+speed, median(m.Gaps), quantile(m.Gaps, 0.95), age[0], age[1], age[2])
		}
	}
	return nil
}

type playing struct {
	Gaps, Ages []float64
	Asked      float64
}

// played plays a view once so that the server has what it needs, then again.
func (b *bench) played(browser context.Context, url string) (m playing, err error) {
	fmt.Fprint(b.log, ".")
	t, closeTab, err := open(browser, url, "")
	if err != nil {
		return m, err
	}
	defer closeTab()
	if err := t.wait(`document.querySelector('.player button[aria-label="Play"]') && ` +
		`!document.querySelector("main [data-state=loading]")`); err != nil {
		return m, err
	}
	if _, err := eval[playing](t, "%s(%d)", following, b.pick(2000, 500)); err != nil {
		return m, err
	}
	return eval[playing](t, "%s(%d)", following, b.pick(3000, 1000))
}
