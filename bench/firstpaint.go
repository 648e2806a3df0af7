package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/chromium"
)

// watching runs in a page before its own scripts: it notes when pictures are there, in ms since the page was
// asked for, and how long the lanes took to be drawn each time. What a frame shows is there when the work of
// the frame is done.
const watching = `(() => {
  const b = window.bench = {blank: 0, tiles: 0, factors: 0, advice: 0, draws: []};
  const note = (what) => setTimeout(() => (b[what] ||= performance.now()));
  requestAnimationFrame(() => note("blank"));
  const proto = CanvasRenderingContext2D.prototype, drawImage = proto.drawImage;
  proto.drawImage = function (...args) {
    drawImage.apply(this, args);
    if (args[0] instanceof HTMLCanvasElement && this.canvas.closest(".lanes")) {
      proto.drawImage = drawImage;
      note("tiles");
    }
  };
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === "lanes") b.draws.push(e.duration) }).observe({type: "measure"});
  const look = () => {
    if (!b.factors && document.querySelector("main dl.tiles dd") && document.querySelector("main .panel canvas")) note("factors");
    if (b.factors && !b.advice && document.querySelector("main #why")) note("advice");
    if (!b.advice) requestAnimationFrame(look);
  };
  if (location.search.includes("view=overview")) requestAnimationFrame(look);
})();`

// benchPage measures the page: when it first shows a run of ten million events, how long a frame takes
// with all of 28 million events in sight, how long the server takes to answer, and what memory it has.
func benchPage(ctx context.Context, b *bench) error {
	browser, end, err := chromium.Start(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		b.table("The page", "", "", "ms").missing("the page", "there is no Chromium (`make tools`)")
		return nil
	}
	if err != nil {
		return err
	}
	defer end()
	dir, err := b.cholesky(ctx, b.pick(132, 40), 2, 2)
	if err != nil {
		return err
	}
	if err := b.firstPaint(ctx, browser, dir); err != nil {
		return err
	}
	if dir, err = b.cholesky(ctx, b.pick(218, 40), 2, 2); err != nil {
		return err
	}
	return b.frames(ctx, browser, dir)
}

// painted is what the script above noted, with the first paint of anything that the browser tells of.
type painted struct {
	Blank, Tiles, Factors, Advice, First float64
	Origin                               float64 // ms since 1970
	Answers                              []answer
}

// answer is how long the server took over a question of the page, ms.
type answer struct {
	Name string
	MS   float64
}

// paint opens an address and waits for what is to be there.
func paint(browser context.Context, url, what string) (p painted, err error) {
	t, closeTab, err := open(browser, url, watching)
	if err != nil {
		return p, err
	}
	defer closeTab()
	if err := t.wait(`window.bench && bench.%s > 0`, what); err != nil {
		return p, err
	}
	return eval[painted](t, `({...bench, first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, origin: performance.timeOrigin,
		answers: performance.getEntriesByType("resource").filter((e) => e.responseStart > 0).map((e) => ({name: e.name.replace(/[?].*/, "").replace(/.*[/]/, ""), ms: e.responseEnd - e.requestStart}))})`)
}

// firstPaint measures when the first pictures are there.
func (b *bench) firstPaint(ctx context.Context, browser context.Context, dir string) error {
	rectangle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w,
			`<!doctype html><canvas width=1200 height=600></canvas><script>document.querySelector("canvas").getContext("2d").fillRect(10, 10, 1000, 500)</script>`)
	}))
	defer rectangle.Close()
	ms := map[string][]float64{}
	add := func(name string, v float64) { ms[name] = append(ms[name], v) }
	var run served
	var memory [][2]float64
	for range b.pick(5, 1) {
		fmt.Fprint(b.log, ".")
		p, err := paint(browser, "about:blank", "blank")
		if err != nil {
			return err
		}
		add("blank", p.Blank)
		if p, err = paint(browser, rectangle.URL, "blank"); err != nil {
			return err
		}
		add("rectangle", p.Blank)
		for _, view := range []string{"timeline", "overview"} {
			what, picture := "tiles", func(p painted) float64 { return p.Tiles }
			if view == "overview" {
				what, picture = "advice", func(p painted) float64 { return p.Factors }
			}
			// The model is loaded, nothing else is known yet.
			s, err := b.serve(ctx, "view", "--no-browser", dir)
			if err != nil {
				return err
			}
			err = func() error {
				if run, err = s.first(ctx); err != nil {
					return err
				}
				if err := s.get(ctx, "/api/runs/"+run.ID, nil); err != nil {
					return err
				}
				add("loaded", float64(time.Since(s.started).Microseconds())/1e3)
				url := fmt.Sprintf("%s/?run=%s&view=%s", s.url, run.ID, view)
				for _, when := range []string{"", "again "} {
					before, err := cpuOf(s.cmd.Process.Pid)
					if err != nil {
						return err
					}
					p, err := paint(browser, url, what)
					if err != nil {
						return err
					}
					after, err := cpuOf(s.cmd.Process.Pid)
					if err != nil {
						return err
					}
					add(when+view, picture(p))
					cpu := (after - before) / 1e6
					add("cpu "+when+view+" all", cpu)
					if view == "timeline" {
						add("cpu "+when+view, cpu)
					}
					if when == "" {
						for _, a := range p.Answers {
							add("answer "+view+" "+a.Name, a.MS)
						}
					}
					add(when+view+" first", p.First)
					add(when+view+" all", max(p.Advice, p.Tiles))
				}
				now, peak, err := s.memory()
				memory = append(memory, [2]float64{now, peak})
				return err
			}()
			if err = errors.Join(err, s.end()); err != nil {
				return err
			}
			// Nothing is loaded, and the browser asks at once.
			if s, err = b.serve(ctx, "view", "--no-browser", dir); err != nil {
				return err
			}
			p, err := paint(browser, fmt.Sprintf("%s/?run=%s&view=%s", s.url, run.ID, view), what)
			if err = errors.Join(err, s.end()); err != nil {
				return err
			}
			add("cold "+view, p.Origin+picture(p)-float64(s.started.UnixMicro())/1e3)
		}
	}
	t := b.table("The first picture of a long run",
		fmt.Sprintf("%.3g million events of the Cholesky example, recorded just before, shown by `whyslow view`; "+
			"headless Chromium without a GPU, 1280 x 800 pixels, an empty cache each time. "+
			"Time from the browser's request to the end of the frame that shows the page. The server is started for "+
			"each of %d measurements and has loaded the model: it has answered `GET /api/runs/ID` once and nothing "+
			"else. For comparison, a page of one rectangle from a minimal server.", run.Events/1e6,
			len(ms["timeline"])),
		"", "ms, median", "goal", "ratio to the rectangle", "longest", "CPU ms of the server")
	row := func(name, of, goal string) {
		var cpu any = ""
		if list := ms["cpu "+of]; len(list) > 0 {
			cpu = median(list)
		}
		t.row(name, median(ms[of]), goal, ratio(median(ms[of])/median(ms["rectangle"])), longest(ms[of]), cpu)
	}
	row("about:blank", "blank", "")
	row("a page of one rectangle", "rectangle", "")
	row("Timeline: anything", "timeline first", "")
	row("Timeline: the lanes", "timeline", "1000")
	row("Timeline: the lanes, once more", "again timeline", "")
	row("Overview: anything", "overview first", "")
	row("Overview: factors, as figures and over time", "overview", "1000")
	row("Overview: and the advice", "overview all", "")
	row("Overview: all of it, once more", "again overview all", "")
	for _, a := range [][2]string{{"timeline", "tile"}, {"overview", "factors"}, {"overview", "report"}} {
		row(fmt.Sprintf("the server's part: /%s, asked for by the %s", a[1], a[0]), "answer "+a[0]+" "+a[1], "")
	}
	row("`whyslow view` from its start until the model is loaded", "loaded", "")
	row("Timeline: the lanes, from the start of `whyslow view`", "cold timeline", "")
	row("Overview: factors, from the start of `whyslow view`", "cold overview", "")

	var now, peak []float64
	for _, m := range memory {
		now, peak = append(now, m[0]/run.Events), append(peak, m[1]/run.Events)
	}
	m := b.table("Memory of the server", fmt.Sprintf("Memory of the process after showing the pages above; the "+
		"trace has %.3g million events and %.3g bytes an event on disk.", run.Events/1e6, run.Bytes/run.Events),
		"", "bytes/event", "MB")
	m.row("resident", median(now), median(now)*run.Events/1e6)
	m.row("at most so far", median(peak), median(peak)*run.Events/1e6)
	return nil
}

// longest is the greatest of a sample.
func longest(s []float64) float64 { return slices.Max(s) }

// tileTimes asks for n tiles that nobody asked for before, at levels from the whole run down to one in 4096
// of it, and returns how long each took in ms, and as long a list for an answer that takes no work.
func tileTimes(ctx context.Context, s *server, run served, n int) (tiles, least []float64, err error) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range n {
		width := run.WallNS / float64(int(1)<<rnd.IntN(13))
		from := rnd.Float64() * (run.WallNS - width)
		took := func(path string) (float64, error) {
			began := time.Now()
			err := s.get(ctx, path, nil)
			return float64(time.Since(began).Microseconds()) / 1e3, err
		}
		t, err := took(fmt.Sprintf("/api/runs/%s/tile?from=%.0f&to=%.0f&width=512&by=code", run.ID, from,
			from+width))
		if err != nil {
			return nil, nil, err
		}
		tiles = append(tiles, t)
		if t, err = took("/api/runs"); err != nil {
			return nil, nil, err
		}
		least = append(least, t)
	}
	return tiles, least, nil
}
