package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// patience is how long anything is waited for.
const patience = 2 * time.Minute

// server is a command of whyslow that serves the page.
type server struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	url     string // without a slash at the end
	started time.Time
}

// serve starts view or serve at a free port.
func (b *bench) serve(ctx context.Context, args ...string) (*server, error) {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return nil, err
	}
	all := append([]string{args[0], "--listen", "127.0.0.1:0", "--insecure"}, args[1:]...)
	s := &server{cmd: exec.CommandContext(ctx, bin, all...)}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.started = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("whyslow %s does not serve: %w\n%s", args[0], errors.Join(err, s.end()), &s.stderr)
	}
	s.url = strings.TrimSuffix(strings.TrimSpace(line), "/")
	return s, nil
}

// end ends it as Ctrl+C does.
func (s *server) end() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// get asks it, and reads the answer into v; nil: it is not looked at.
func (s *server) get(ctx context.Context, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, bytes.TrimSpace(body))
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(body, v)
}

// served is what is known of the run that a server shows.
type served struct {
	ID      string  `json:"id"`
	WallNS  float64 `json:"wall_ns"`
	Events  float64 `json:"events"`
	Bytes   float64 `json:"bytes"`
	Started string  `json:"started"`
	State   string  `json:"state"`
}

// first returns the first run that it shows.
func (s *server) first(ctx context.Context) (served, error) {
	var list []served
	if err := s.get(ctx, "/api/runs", &list); err != nil {
		return served{}, err
	}
	if len(list) == 0 {
		return served{}, errors.New("no run is shown")
	}
	return list[0], nil
}

// memory is how much the process has and had at most, in bytes.
func (s *server) memory() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	return statusBytes(string(text), "VmRSS"), statusBytes(string(text), "VmHWM"), nil
}

// statusBytes reads a line as "VmRSS:     1234 kB" of a process's status, 0 if there is none.
func statusBytes(text, name string) float64 {
	for line := range strings.Lines(text) {
		var kb float64
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			if _, err := fmt.Sscanf(rest, "%f kB", &kb); err == nil {
				return kb * 1024
			}
		}
	}
	return 0
}

// tab is a page in a window of its own that has nothing in its cache.
type tab struct{ ctx context.Context }

// open shows an address in a new window of 1280 x 800 pixels; script runs in it before anything else.
func open(browser context.Context, url, script string) (*tab, context.CancelFunc, error) {
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t := &tab{ctx}
	if err := chromedp.Do(ctx); err != nil { // a window lives as long as the context that it was opened with
		cancel()
		return nil, nil, err
	}
	err := t.do(chromedp.EmulateViewport(1280, 800),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
				page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
			if err == nil {
				_, err = chromedp.Call(ctx, performance.Enable, performance.EnableParams{})
			}
			return err
		}), chromedp.Navigate(url))
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("%s: %w", url, err)
	}
	return t, cancel, nil
}

func (t *tab) do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// eval returns what a script, or a promise that it makes, yields.
func eval[T any](t *tab, script string, args ...any) (T, error) {
	if len(args) > 0 {
		script = fmt.Sprintf(script, args...)
	}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("%.80s: %w", script, err)
	}
	return v, nil
}

// wait waits until a script yields true.
func (t *tab) wait(script string, args ...any) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		v, err := eval[bool](t, "!!("+fmt.Sprintf(script, args...)+")")
		if err != nil || v {
			return err
		}
		if time.Since(began) > patience {
			text, _ := eval[string](t, `document.body.innerText`)
			return fmt.Errorf("in vain waited for %s; the page shows %.300q", script, text)
		}
	}
}

// busy is for how long the main thread has worked, and of that run scripts, in seconds.
func (t *tab) busy() (all, script float64, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		r, err := chromedp.Call(ctx, performance.GetMetrics, struct{}{})
		for _, m := range r.Metrics {
			switch m.Name {
			case "TaskDuration":
				all = m.Value
			case "ScriptDuration":
				script = m.Value
			}
		}
		return err
	}))
	return all, script, err
}
