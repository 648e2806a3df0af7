package counters_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

func compute(t interface {
	Helper()
	Fatal(...any)
}, m *model.Model, opt counters.Options) *counters.Result {
	t.Helper()
	r, err := counters.Compute(context.Background(), m, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// values are those of a level at each nanosecond of a run, worked out from the definition.
type values []int64

// check compares a series to what the values at every nanosecond say of it.
func (v values) check(r *counters.Result, name string, node int, link string) error {
	s := r.Find(name, node, link)
	what := fmt.Sprintf("%s node %d link %q", name, node, link)
	if s == nil {
		return fmt.Errorf("%s is not there", what)
	}
	wall := int64(len(v)) - 1
	peak, peakNS := int64(0), int64(0)
	for t, x := range v {
		if x > peak {
			peak, peakNS = x, int64(t)
		}
	}
	if s.Peak != peak || s.PeakNS != peakNS || s.End != v[wall] {
		return fmt.Errorf("%s: peak %d at %d, end %d; by the definition peak %d at %d, end %d", what, s.Peak,
			s.PeakNS, s.End, peak, peakNS, v[wall])
	}
	for i := range r.Windows {
		from, to := int64(i)*r.WindowNS, min(int64(i+1)*r.WindowNS, wall)
		part := v[from:to]
		if to == wall {
			part = v[from:]
		}
		low, high := part[0], part[0]
		for _, x := range part {
			low, high = min(low, x), max(high, x)
		}
		sum := 0.0
		for _, x := range v[from:to] {
			sum += float64(x)
		}
		mean := float64(v[wall])
		if to > from {
			mean = sum / float64(to-from)
		}
		if s.Min[i] != low || s.Max[i] != high || s.Last[i] != part[len(part)-1] ||
			diff(s.Mean[i], mean) > 1e-9 {
			return fmt.Errorf("%s, window %d [%d, %d): mean %g min %d max %d last %d; by the definition mean %g min "+
				"%d max %d last %d", what, i, from, to,
				s.Mean[i], s.Min[i], s.Max[i], s.Last[i], mean, low, high, part[len(part)-1])
		}
	}
	return nil
}

func diff(a, b float64) float64 { return max(a-b, b-a) }

// text writes a result as goldens hold it.
func text(r *counters.Result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d ns in %d windows of %d\n", r.WallNS, r.Windows, r.WindowNS)
	for i := range r.Series {
		x := &r.Series[i]
		of := ""
		if x.Node >= 0 {
			of = fmt.Sprintf(" n%d", x.Node)
		}
		if x.Link != "" {
			of = " " + x.Link
		}
		fmt.Fprintf(&s, "%s%s: ", x.Name, of)
		if x.Sum != nil {
			fmt.Fprintf(&s, "sum %v rate %.4g most %d@%d all %d\n", x.Sum, x.Mean, x.Peak, x.PeakNS, x.End)
		} else {
			fmt.Fprintf(&s, "mean %.4g min %v max %v last %v peak %d@%d end %d\n", x.Mean, x.Min, x.Max,
				x.Last, x.Peak, x.PeakNS, x.End)
		}
	}
	if mem := r.Memory; mem != nil {
		for _, p := range append([]counters.Peak{mem.Total}, mem.Nodes...) {
			fmt.Fprintf(&s, "peak n%d: %d bytes in %d copies at %d, of which", p.Node, p.Bytes, p.Copies,
				p.NS)
			for _, h := range p.Holders {
				fmt.Fprintf(&s, " %s %d in %d", h.DF, h.Bytes, h.Copies)
			}
			fmt.Fprintf(&s, ", others %d in %d; at the end %d\n", p.Others.Bytes, p.Others.Copies, p.EndBytes)
		}
		fmt.Fprintf(&s, "unsized %d unmatched %d\n", mem.Unsized, mem.Unmatched)
	}
	for _, l := range r.Links {
		fmt.Fprintf(&s, "%d->%d: %+v\n", l.From, l.To, l.Traffic)
	}
	if r.Messages != nil {
		fmt.Fprintf(&s, "all: %+v\n", *r.Messages)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&s, "missing %s: %v\n", m.Event, m.Series)
	}
	return s.String()
}

func TestOptions(t *testing.T) {
	m := &model.Model{Info: &trace.RunInfo{}}
	for _, bad := range []counters.Options{{Windows: -1}, {Windows: 1 << 30}, {Only: []string{"bytes"}}} {
		if _, err := counters.Compute(context.Background(), m, bad, nil); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	// More than can be held is refused before anything is made.
	large := &model.Model{Info: m.Info, Nodes: make([]model.Node, 30), End: 1e9}
	if _, err := counters.Compute(context.Background(), large, counters.Options{Windows: 1 << 20},
		nil); err == nil || !strings.Contains(err.Error(), "use at most") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := counters.Compute(ctx, m, counters.Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
