package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/testkit/chromium"
)

// browser is a page open in Chromium.
type browser struct {
	testing.TB
	ctx context.Context
	mu  sync.Mutex
	// complaints are what the browser said, requests what it asked for beyond the page itself.
	complaints, requests []string
}

// openBrowser shows a page in Chromium; it skips the test if there is none.
func openBrowser(t *testing.T, page string) *browser {
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx = chromium.ForTest(ctx, t)
	b := &browser{TB: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			b.complaints = append(b.complaints, "console."+string(ev.Type))
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, "exception: "+ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.complaints = append(b.complaints, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, "file://"+file) && !strings.HasPrefix(u, "data:") {
				b.requests = append(b.requests, u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file))
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

func eval[T any](b *browser, script string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return v
}

// quiet checks that the browser did not complain and that the page asked for nothing.
func (b *browser) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("the browser says %q", b.complaints)
	}
	if len(b.requests) > 0 {
		b.Errorf("the page asks for %q", b.requests)
	}
}

func (b *browser) wide() string {
	return eval[string](b,
		`[...document.querySelectorAll('main > section > *, .plot')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1).map(e => e.tagName + ' ' + e.className).join()`)
}

// TestBrowser looks at a page as a user does.
func TestBrowser(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/two_nodes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, pageOf(t, compute(t, string(ar.Files[0].Data), "node", "worker", "code", "index:0")))
	if title := eval[string](b, `document.title`); title != "late.fa" {
		t.Errorf("the title is %q", title)
	}

	// A table is sorted by a click and by keys; what stands at the end stays there.
	const table = `[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('By code'))`
	const column = `[...` + table + `.tBodies[0].rows].map(r => r.cells[1].textContent).join()`
	if got := eval[string](b, column); got != "0.000053000,0.000010000,0.000057000" {
		t.Errorf("times are %s", got)
	}
	eval[bool](b, table+`.querySelectorAll('th button')[1].id = 'sorter', true`)
	for _, want := range []string{"0.000053000,0.000010000,0.000057000 descending", "0.000010000,0.000053000,0.000057000 ascending"} {
		b.do(chromedp.Click(chromedp.CSS("#sorter")))
		if got := eval[string](b,
			column+` + ' ' + document.querySelector('#sorter').parentNode.ariaSort`); got != want {
			t.Errorf("sorted: %s, want %s", got, want)
		}
	}
	b.do(chromedp.Focus(chromedp.CSS("#sorter")), chromedp.KeyEvent("\r"))
	if got := eval[string](b, column); got != "0.000053000,0.000010000,0.000057000" {
		t.Errorf("sorted by a key: %s", got)
	}

	// Colours follow the system, and the switch.
	const colour = `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('.plot .u')).fill`
	scheme := func(s string) {
		b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
					Value: s}}})
			return chromedp.Void{}, err
		})
	}
	scheme("light")
	light := eval[string](b, colour)
	scheme("dark")
	dark := eval[string](b, colour)
	if light == dark {
		t.Errorf("light and dark are both %s", light)
	}
	for _, s := range []struct{ id, want string }{{"light", light}, {"dark", dark}, {"auto", dark}} {
		b.do(chromedp.Click(chromedp.CSS("#theme-" + s.id)))
		if got := eval[string](b, colour); got != s.want {
			t.Errorf("colours %s: %s, want %s", s.id, got, s.want)
		}
	}

	// Nothing sticks out at any width; plots have a size.
	for _, width := range []int64{400, 700, 1280, 2400} {
		b.do(chromedp.EmulateViewport(width, 900))
		if got := b.wide(); got != "" {
			t.Errorf("at %d pixels these stick out: %s", width, got)
		}
		if got := eval[float64](b,
			`Math.min(...[...document.querySelectorAll('section > figure > .plot')].map(p => p.getBoundingClientRect().width))`); got < 200 {
			t.Errorf("at %d pixels a plot is %.0f pixels wide", width, got)
		}
	}
	// What a plot draws fills it.
	if got := eval[float64](b,
		`(p => p.querySelector('path').getBoundingClientRect().width / p.getBoundingClientRect().width)(document.querySelector('#time .plot'))`); got < 0.99 || got > 1.01 {
		t.Errorf("the stack fills %.2f of its plot", got)
	}
	b.quiet()
}

// TestHostileBrowser: what a trace holds runs nothing.
func TestHostileBrowser(t *testing.T) {
	b := openBrowser(t,
		pageOf(t, compute(t,
			hostile(t, `</style></script></svg><script>window.bad=1</script><img src=x onerror="window.bad=1"><style>*{color:red}</style>`), "node", "code")))
	if bad := eval[bool](b,
		`'bad' in window || document.images.length > 0 || document.querySelectorAll('script, style').length != 2`); bad {
		t.Error("a name became a part of the page")
	}
	b.quiet()
}
