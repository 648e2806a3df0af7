package engine_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// BenchmarkCF measures the engine's own cost of a CF: an empty one, and one that makes a DF which another
// reads.
func BenchmarkCF(b *testing.B) {
	for name, src := range map[string]string{
		"empty":    `sub main(int n) { for i = 1 .. n none(); }`,
		"chain":    `sub main(int n) { df x; put(x[0], 0) @ { req_count x[0] = 1; }; for i = 1 .. n mix(x[i], x[i - 1], 1) @ { req_count x[i] = 1; }; }`,
		"while":    `sub main(int n) { df m; while i < n, i = 0 .. out m { none(); } }`,
		"two node": `sub main(int n) { for i = 1 .. n none() @ { locator_cyclic: 1; }; }`,
	} {
		for _, traced := range []bool{true, false} {
			suffix := "/traced"
			if !traced {
				suffix = "/untraced"
			}
			b.Run(name+suffix, func(b *testing.B) {
				p := compile(b, src)
				cfg := engine.Config{Program: p, Library: open(b, p), Nodes: 1, Workers: 1,
					Args: []string{strconv.Itoa(b.N)}}
				if name == "two node" {
					cfg.Nodes = 2
				}
				if traced {
					cfg.Session = prof.New()
					for i := range cfg.Nodes {
						w, err := trace.Create(b.TempDir(), i, trace.Options{})
						if err != nil {
							b.Fatal(err)
						}
						cfg.Writers = append(cfg.Writers, w)
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := engine.Run(context.Background(), cfg); err != nil {
					b.Fatal(err)
				}
				for _, w := range cfg.Writers {
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRules measures what an event emitted by rule costs: one per empty CF, to be compared with none.
func BenchmarkRules(b *testing.B) {
	p := compile(b, `sub main(int n) { for i = 1 .. n none(); }`)
	lib := open(b, p)
	for name, rule := range map[string]*config.EventState{
		"none":    nil,
		"no args": {Rule: behind("return EXIT")},
		"listing": {Rule: behind("return EXIT"),
			Args: []string{"__func__", "std::chrono::high_resolution_clock::now()"}},
		"numbers":      {Rule: behind("return EXIT"), Args: []string{"cf", "node", "execution", "input_bytes"}},
		"other":        {Rule: behind("return EXIT"), Args: []string{"__func__"}, Functions: []string{"other"}},
		"foreign call": {Rule: behind("foreign call"), Args: []string{"__func__", "steady_clock::now()"}},
	} {
		for _, traced := range []bool{true, false} {
			b.Run(name+map[bool]string{true: "/traced", false: "/handled"}[traced], func(b *testing.B) {
				cfg := engine.Config{Program: p, Library: lib, Nodes: 1, Workers: 1, Args: []string{strconv.Itoa(b.N)},
					Session: prof.New()}
				if rule != nil {
					r := *rule
					r.Namespace, r.Name, r.Rule.Before = "User", "onX", true
					cfg.Rules = []config.EventState{r}
				}
				n := 0
				if traced {
					w, err := trace.Create(b.TempDir(), 0, trace.Options{})
					if err != nil {
						b.Fatal(err)
					}
					cfg.Writers = []*trace.Writer{w}
					defer w.Close()
				} else if err := cfg.Session.ConnectAny("User", "onX", "count", 0, func(*prof.Stream, *prof.Any) {
					n++
				}); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := engine.Run(context.Background(), cfg); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
