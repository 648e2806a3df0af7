package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/whyslow/whyslow/internal/testkit/chromium"
)

// Tests of the page as a user has it: the real commands serve it, Chromium shows it. One Chromium serves all
// tests; each test has windows of its own, with their own cookies. What is waited for is polled until it
// holds; how long that takes is no failure.

var (
	pictures  = flag.String("pictures", "", "`folder` for pictures of every view of the page, to be looked at")
	bigEvents = flag.Int("big", 1_000_000,
		"about how many `events` the big trace has that the page is tried with")
)

// patience is how long anything is waited for. The computer may be busy with other tests.
const patience = 4 * time.Minute

// TestPage looks at the page as a user does.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the page is not looked at")
	}
	if !canRun {
		t.Skip("built without the engine: there are no runs to show")
	}
	p := startChromium(t)
	for _, test := range []struct {
		name string
		f    func(t *testing.T, p *pages)
	}{
		{"big", pageBig}, {"live", pageLive}, {"collector", pageCollector}, {"views", pageViews},
		{"address", pageAddress}, {"timeline", pageTimeline},
		{"figures", pageFigures}, {"compare", pageCompare}, {"saved", pageSaved}, {"token", pageToken},
		{"patterns", pagePatterns}, {"regions", pageRegions}, {"states", pageStates}, {"unset", pageUnset},
		{"reasons", pageReasons}, {"everybody", pageEverybody}, {"tools", pageTools},
		{"whatif", pageWhatIf}, {"sql", pageSQL}, {"decisions", pageDecisions}, {"runs", pageRuns},
		{"reach", pageReach}, {"lanes", pageLanes}, {"tasks", pageTasks}, {"playback", pagePlayback},
		{"debug", pageDebug},
		{"moment", pageMoment}, {"site", pageSite}, {"messages", pageMessages}, {"openmp", pageOpenMP},
		{"imported", pageImported},
		{"pictures", pagePictures},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.f(t, p)
		})
	}
}

// pages is what all tests share: the browser, the program, and traces of the heat example on four nodes.
type pages struct {
	browser context.Context
	home    string // with bin/whyslow
	heat    string // --link-latency 100us
	heat2   string // 2ms
}

func startChromium(t *testing.T) *pages {
	p := &pages{browser: chromium.ForTest(context.Background(), t), home: lunaHome(t)}
	dir := t.TempDir()
	p.heat, p.heat2 = filepath.Join(dir, "heat.trace"), filepath.Join(dir, "slower.trace")
	p.whyslow(t, "run", "-q", "-n", "4", "-w", "1", "--link-latency", "100us", "-o", p.heat, heatProgram,
		"200", "8", "0.5", "4")
	p.whyslow(t, "run", "-q", "-n", "4", "-w", "1", "--link-latency", "2ms", "-o", p.heat2, heatProgram,
		"200", "8", "0.5", "4")
	return p
}

// heatProgram is in the folder of every command.
const heatProgram = "examples/heat/heat.fa"

// command makes a command of whyslow in a folder that has the examples; it is killed when the test ends.
func (p *pages) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(filepath.Join(p.home, "bin", "whyslow"), args...)
	cmd.Dir = t.TempDir()
	examples, err := filepath.Abs("../examples")
	if err == nil {
		err = os.Symlink(examples, filepath.Join(cmd.Dir, "examples"))
	}
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// whyslow runs a command to its end and returns what it wrote to standard output.
func (p *pages) whyslow(t *testing.T, args ...string) string {
	t.Helper()
	cmd, stderr := p.command(t, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("whyslow %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return string(out)
}

// server is a command that serves the page.
type server struct {
	*exec.Cmd
	url    string // with a slash at the end
	stderr *bytes.Buffer
	ended  chan error
}

// serve starts view or serve at a free port, or at the address given.
func (p *pages) serve(t *testing.T, args ...string) *server {
	t.Helper()
	if !slices.Contains(args, "--listen") {
		args = slices.Insert(args, 1, "--listen", "127.0.0.1:0")
	}
	if !slices.Contains(args, "--token") {
		args = slices.Insert(args, 1, "--insecure") // pageToken tries what is usual
	}
	if args[0] == "view" {
		args = slices.Insert(args, 1, "--no-browser")
	}
	cmd, stderr := p.command(t, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{Cmd: cmd, stderr: stderr, ended: make(chan error, 1)}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { s.ended <- cmd.Wait() }()
	if err != nil {
		<-s.ended
		t.Fatalf("whyslow %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	s.url = strings.TrimSpace(line)
	t.Cleanup(func() { s.end(t) })
	return s
}

// end ends the server as Ctrl+C does, and checks that it had nothing to complain of.
func (s *server) end(t *testing.T) {
	if s.ended == nil {
		return
	}
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	err := <-s.ended
	s.ended = nil
	if err != nil || strings.Contains(s.stderr.String(), "panic") || strings.Contains(s.stderr.String(),
		"DATA RACE") {
		t.Errorf("whyslow %s: %v\n%s", strings.Join(s.Args[1:], " "), err, s.stderr)
	}
}

// kill ends the server without a chance to save anything.
func (s *server) kill(t *testing.T) {
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	s.ended = nil
}

// tab is a page in a window of its own.
type tab struct {
	*testing.T
	ctx       context.Context
	downloads string // what is saved comes here

	mu         sync.Mutex
	origin     string
	complaints []string
	loader     cdp.LoaderID                 // of the page, which may be loaded again
	flying     map[network.RequestID]string // requests without an answer so far
	asked      int                          // how many there have been
	forgive    *regexp.Regexp               // complaints that are to be expected
	saving     map[string]string            // names of downloads, by their numbers
	saved      map[string]bool              // downloads of any window that are whole and were not looked at
}

// open shows an address in a new window of 1280 x 800 pixels. The browser may complain of what matches the
// expression, which may be at once.
func (p *pages) open(t *testing.T, url string, forgive ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(p.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, downloads: t.TempDir(), flying: map[network.RequestID]string{},
		saving: map[string]string{}, saved: map[string]bool{}}
	b.origin = regexp.MustCompile(`^https?://[^/]*`).FindString(url)
	for _, expression := range forgive {
		b.forgiving(expression)
	}
	if err := errors.Join(chromedp.Listen(ctx, b.event), chromedp.ListenBrowser(ctx, b.download)); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 800),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			events := true
			_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
				Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: chromedp.FromContext(ctx).
						BrowserContextID, DownloadPath: b.downloads, EventsEnabled: &events,
			})
			return err
		}), chromedp.Navigate(url))
	t.Cleanup(func() {
		if t.Failed() {
			b.picture("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
	})
	return b
}

func (b *tab) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		text := "console." + string(ev.Type)
		for _, a := range ev.Args {
			text += fmt.Sprintf(" %s %s", a.Value, a.Description)
		}
		b.complain(text)
	case *runtime.EventExceptionThrown:
		text := "exception: " + ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			text += " " + e.Description
		}
		b.complain(text)
	case *log.EventEntryAdded:
		b.complain(ev.Entry.Text + " " + ev.Entry.URL)
	case *network.EventRequestWillBeSent:
		u := ev.Request.URL
		if !strings.HasPrefix(u, b.origin+"/") && !strings.HasPrefix(u, "blob:"+b.origin) && !strings.HasPrefix(u,
			"about:") {
			b.complain("it asks for " + u)
		}
		if ev.Type == network.ResourceTypeDocument {
			clear(b.flying)
			b.loader = ev.LoaderID
		}
		// What the page before it asks for to its end is not told to be over.
		if ev.LoaderID == b.loader && !strings.HasSuffix(u, "/updates") { // those never end
			b.flying[ev.RequestID] = u
			b.asked++
		}
	case *network.EventResponseReceived:
		if ev.Response.Status >= 400 {
			b.complain(fmt.Sprintf("%d for %s", ev.Response.Status, ev.Response.URL))
			delete(b.flying, ev.RequestID) // nobody may read the rest
		}
	case *network.EventLoadingFinished:
		delete(b.flying, ev.RequestID)
	case *network.EventLoadingFailed:
		if !ev.Canceled {
			b.complain(ev.ErrorText + " " + b.flying[ev.RequestID])
		}
		delete(b.flying, ev.RequestID)
	}
}

func (b *tab) download(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *browser.EventDownloadWillBegin:
		b.saving[ev.GUID] = ev.SuggestedFilename
	case *browser.EventDownloadProgress:
		if ev.State == browser.DownloadProgressStateCompleted {
			b.saved[ev.GUID] = true
		}
	}
}

func (b *tab) complain(text string) {
	if b.forgive == nil || !b.forgive.MatchString(text) {
		b.complaints = append(b.complaints, text)
	}
}

// forgiving lets the browser complain of what matches.
func (b *tab) forgiving(expression string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgive = regexp.MustCompile(expression)
}

// quiet checks that the browser has not complained since the last time.
func (b *tab) quiet(where string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("%s: the browser says %q", where, b.complaints)
	}
	b.complaints = nil
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// query gives what a script yields.
func query[T any](b *tab, script string, args ...any) T {
	b.Helper()
	if len(args) > 0 {
		script = fmt.Sprintf(script, args...)
	}
	v, err := evaluate[T](b, script)
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return v
}

func evaluate[T any](b *tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// leaving is what the browser says when the document that was asked gives way to another.
var leaving = []string{"Inspected target navigated or closed", "Execution context was destroyed",
	"Cannot find context with specified id"}

// until waits until something holds.
func (b *tab) until(what string, holds func() bool) {
	b.Helper()
	for began := time.Now(); !holds(); time.Sleep(30 * time.Millisecond) {
		if time.Since(began) > patience {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.Fatalf("in vain waited until %s; the page is %s, on its way %v, it shows %.600q", what,
				query[string](b, `location.href`), b.flying, query[string](b, `document.body.innerText`))
		}
	}
}

// wait waits until a script yields true. It may look at what is not there yet, and while the tab goes to
// another document: the script is asked again there.
func (b *tab) wait(script string, args ...any) {
	b.Helper()
	script = fmt.Sprintf(script, args...)
	b.until(script, func() bool {
		holds, err := evaluate[bool](b, `(() => { try { return !!(`+script+`) } catch { return false } })()`)
		if err == nil {
			return holds
		}
		if !slices.ContainsFunc(leaving, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			b.Fatalf("%s: %v", script, err)
		}
		return false
	})
}

// settle waits until everything has been answered and drawn.
func (b *tab) settle() {
	b.Helper()
	// What was done just before may still have to ask, a little later: by the page's clock, as the computer
	// may be busy.
	const still = `new Promise(f => setTimeout(() => f(document.readyState === "complete" &&
		!!document.querySelector("main") && !document.querySelector("main .stale")), 120))`
	b.until("everything is answered", func() bool {
		asked, before := b.resting()
		if !before {
			return false
		}
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		calm, err := chromedp.Run(ctx, chromedp.Evaluate[bool](still, chromedp.EvalAwaitPromise))
		again, after := b.resting()
		return err == nil && calm && after && again == asked // an error: the page is left for another one
	})
	query[bool](b, `new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(true))))`)
}

// resting gives the number of requests so far, and whether all are answered.
func (b *tab) resting() (asked int, rest bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked, len(b.flying) == 0
}

// run is the identifier of the run that is shown.
func (b *tab) run() string {
	b.Helper()
	b.wait(`new URLSearchParams(location.search).has("run")`)
	return query[string](b, `new URLSearchParams(location.search).get("run")`)
}

// picture keeps a picture of the page where they are wanted.
func (b *tab) picture(name string) {
	if *pictures == "" {
		return
	}
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = errors.Join(os.MkdirAll(*pictures, 0o777), os.WriteFile(filepath.Join(*pictures, name+".png"),
			data, 0o666))
	}
	if err != nil {
		b.Error(err)
	}
}

// click clicks the first element that a selector finds, or with a text the first of them that has this text.
func (b *tab) click(selector string, text ...string) {
	b.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e => %v || e.textContent.trim() === %q)`,
		selector, len(text) == 0, strings.Join(text, ""))
	b.wait(`%s`, find)
	// A user clicks what stands still and is not covered: what comes later may still move it.
	const rest = `(async () => {
		const place = e => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }
		const frame = () => new Promise(requestAnimationFrame)
		const e = %[1]s
		if (!e) return []
		e.scrollIntoView({block: "nearest"})
		const before = place(e)
		await frame(), await frame()
		const after = place(e), top = document.elementFromPoint(...after)
		const hit = top && (e.contains(top) || top.contains(e) || e.control === top)
		return e.isConnected && hit && String(before) === String(after) ? after : []
	})()`
	var at []float64
	b.until(find+" can be clicked", func() bool {
		at = query[[]float64](b, rest, find)
		return len(at) == 2
	})
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

func (b *tab) keys(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// mouse does something with the mouse at a point; with keys held, 1 Alt, 2 Ctrl, 8 Shift.
func (b *tab) mouse(what input.DispatchMouseEventType, x, y float64, held int64,
	more ...func(*input.DispatchMouseEventParams)) {
	b.Helper()
	b.do(chromedp.MouseEvent(what, x, y, append(more, func(p *input.DispatchMouseEventParams) {
		p.Modifiers = held
	})...))
}
