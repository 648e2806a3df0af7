package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	debugger "github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/debug/browser"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// TestDebuggedFromThePage debugs random programs as several windows of the page would at once: they do what
// they always do.
func TestDebuggedFromThePage(t *testing.T) {
	open(t, compile(t, "sub main() none();"))
	deadline := time.Now().Add(time.Duration(effort.Times(1, 20)) * time.Second)
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.Src)
		s := shape{nodes: rapid.IntRange(1, 3).Draw(rt, "nodes"), workers: rapid.IntRange(1, 3).Draw(rt, "workers")}
		moves := rapid.SliceOfN(rapid.SampledFrom([]string{`step {}`, `step {"node":1}`, `step {"node":0,"worker":1}`,
			`pause {}`, `until {"text":"nowhere"}`, `clear {"id":7}`, `let {"cf":"0.1"}`, `set {"df":"nowhere","value":"1"}`,
			`input {"cf":"0.2","df":"nowhere","value":"a"}`, `release {"text":"x"}`, `continue {}`}), 1, 30).Draw(rt, "moves")
		page := browser.New()
		d, err := debugger.New(context.Background(), debugger.Options{Program: p, AtEntry: true, Log: page.Log})
		if err != nil {
			t.Fatal(err)
		}
		var windows sync.WaitGroup
		over := make(chan struct{})
		phase := func() (string, <-chan struct{}) {
			st, changed := page.State()
			return st.(browser.State).Phase, changed
		}
		windows.Go(func() { // does what it likes, and then lets everything go on
			for i := 0; ; {
				now, changed := phase()
				switch {
				case now == browser.Over:
					return
				case now != browser.Stopped:
					<-changed
				case i < len(moves):
					action, args, _ := strings.Cut(moves[i], " ")
					_ = page.Do(action, []byte(args)) // it may have nothing to do
					i++
				default:
					_ = page.Do("continue", nil) // the run may be over
				}
			}
		})
		windows.Go(func() { // looks
			for {
				for _, q := range []string{"cfs", "dfs", "cf?cf=0.2", "df?df=x&type=double"} {
					what, query, _ := strings.Cut(q, "?")
					values, err := url.ParseQuery(query)
					if err != nil {
						t.Error(err)
					}
					if v, err := page.Ask(what, values); err == nil {
						if _, err := json.Marshal(v); err != nil {
							t.Error(err)
						}
					}
				}
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
		windows.Go(func() { page.Serve(d, func() {}) })
		g.steered(rt, t, p, s, d)
		d.End()
		close(over)
		windows.Wait()
		if now, _ := phase(); now != browser.Over {
			rt.Fatal(fmt.Sprintf("at the end it is %s", now))
		}
	})
}
