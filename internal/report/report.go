// Package report shows the division of a run's processor time: for people in a terminal, and as JSON for
// programs.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/slou"
)

// Options of the faces; the zero value is a plain report for a terminal of 80 columns.
type Options struct {
	Color bool   // use ANSI colours
	Width int    // columns of the terminal; 0 means 80
	By    string // "", "node", "worker" or "code": adds a table split so
	Top   int    // rows of the tables of fragments and causes; 0 means 10
}

// CheckBy tells what is wrong with a value for Options.By.
func CheckBy(by string) error {
	if slices.Contains([]string{"", "node", "worker", "code"}, by) {
		return nil
	}
	return fmt.Errorf("cannot split by %q; use node, worker or code", by)
}

// document is the JSON face.
type document struct {
	*slou.Result
	Warnings []string `json:"warnings"`
	Advice   []Advice `json:"advice"`
}

// JSON writes a result as one JSON object, times in integer nanoseconds.
func JSON(w io.Writer, res *slou.Result, opt Options) error {
	doc := document{res, Warnings(res), Advise(res)}
	if doc.Advice == nil {
		doc.Advice = []Advice{}
	}
	if doc.Warnings == nil {
		doc.Warnings = []string{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// Warnings are sentences about what makes the numbers less certain than they look.
func Warnings(res *slou.Result) (out []string) {
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if res.Killed {
		warn("The trace has no end: the program was killed or crashed. The run is taken to end at the last recorded time.")
	}
	if res.Loss.Events > 0 || res.Loss.NS > 0 {
		what := "an unknown number of events"
		if res.Loss.Events > 0 {
			what = count(int64(res.Loss.Events), "event")
		}
		warn("%s lost: nothing is known of %s of the workers' time (%s), which is in no factor.", what, duration(res.Loss.NS), percent(res.Loss.NS, res.Loss.NS+res.TotalNS))
	}
	for _, m := range res.Missing {
		if len(m.Factors) > 0 {
			warn("%s was not recorded: %s cannot be computed.", m.Event, strings.Join(m.Factors, ", "))
		} else {
			warn("%s was not recorded: %s cannot be told apart from the rest of their factors.", m.Event, strings.Join(m.Parts, ", "))
		}
	}
	for _, h := range res.Hosts {
		if h.Cores > 0 && h.Workers > h.Cores {
			name := h.Host
			if name == "" {
				name = "the host"
			}
			warn("%d workers share %s on %s: they take turns, so some of the useful time may be waiting for a core. Use at most %s there.",
				h.Workers, count(int64(h.Cores), "core"), name, count(int64(h.Cores), "worker"))
			if u := res.Factors.U; u != nil && u.MeasuredNS < u.NS {
				warn("%s of the useful time was not measured by a thread's clock and includes pre-emption.", percent(u.NS-u.MeasuredNS, u.NS))
			}
		}
	}
	if g := res.Messages; g.Violations > 0 {
		warn("By the clocks of the nodes, %d of %s arrived before being sent. Time on the link counts as 0 for them.", g.Violations, count(g.Count, "message"))
	}
	if res.Messages.Half > 0 {
		warn("Only one end was recorded of %s; their time on the link counts as 0.", count(res.Messages.Half, "message"))
	}
	if res.Unfinished > 0 {
		warn("%s started and did not end.", count(int64(res.Unfinished), "CF"))
	}
	return out
}

// count writes "1 CF", "3 CFs".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(ns, of int64) string {
	if of <= 0 {
		return "0.0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(ns)/float64(of))
}

// duration writes a time with three or four digits and a unit that fits.
func duration(ns int64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if v := float64(ns) / u.ns; v >= 0.9995 {
			switch {
			case v >= 100:
				return fmt.Sprintf("%.0f %s", v, u.name)
			case v >= 10:
				return fmt.Sprintf("%.1f %s", v, u.name)
			}
			return fmt.Sprintf("%.2f %s", v, u.name)
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

func byteCount(n int64) string {
	v := float64(n)
	for _, u := range []string{"bytes", "KB", "MB", "GB"} {
		if v < 1000 {
			if u == "bytes" {
				return count(n, "byte")
			}
			return fmt.Sprintf("%.1f %s", v, u)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.1f TB", v)
}

// part is a named amount of time.
type part struct {
	name string
	ns   int64
}

func sortedParts(parts map[string]int64) []part {
	var out []part
	for k, v := range parts {
		if v > 0 {
			out = append(out, part{k, v})
		}
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.name, b.name)) })
	return out
}
