package lifecycle_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// fact is an event that sloutest does not make.
type fact struct {
	t      int64
	node   int
	kind   string
	df     int
	cf     string
	second string
	reason string
	dfs    []int
}

func (f fact) text() string {
	switch f.kind {
	case "CFEvents.onWaiting":
		return fmt.Sprintf("%d n%d s8 %s cf=%s awaited=%v\n", f.t, f.node, f.kind, f.cf, f.dfs)
	case "DFEvents.onDestroy":
		return fmt.Sprintf("%d n%d s8 %s df=%d size=8 reason=%s\n", f.t, f.node, f.kind, f.df, f.reason)
	case "DFEvents.onDuplicate":
		return fmt.Sprintf("%d n%d s8 %s df=%d first=%s second=%s\n", f.t, f.node, f.kind, f.df, f.cf,
			f.second)
	}
	return fmt.Sprintf("%d n%d s8 %s df=%d size=8\n", f.t, f.node, f.kind, f.df)
}

// facts draws waits, stores, destructions and duplicates at random times; they need make no sense.
func facts(t *rapid.T, r *sloutest.Run) (out []fact) {
	var cfs []string
	end := int64(0)
	for _, e := range r.Events {
		if e.Kind == "CFEvents.onCreated" {
			cfs = append(cfs, e.CF)
		}
		end = max(end, e.Time)
	}
	dfs := r.DFs + 2 // two that nobody makes
	for range rapid.IntRange(0, 15).Draw(t, "facts") {
		f := fact{t: rapid.Int64Range(0, end).Draw(t, "t"),
			node: rapid.IntRange(0, r.Nodes-1).Draw(t, "node"), df: rapid.IntRange(1, dfs).Draw(t, "df")}
		f.kind = rapid.SampledFrom([]string{"CFEvents.onWaiting", "DFEvents.onStored", "DFEvents.onDropped",
			"DFEvents.onDestroy", "DFEvents.onDuplicate"}).Draw(t, "kind")
		f.reason = rapid.SampledFrom([]string{"expired", "deleted", "end"}).Draw(t, "reason")
		if len(cfs) == 0 {
			continue
		}
		f.cf, f.second = rapid.SampledFrom(cfs).Draw(t, "cf"), rapid.SampledFrom(cfs).Draw(t, "second")
		f.dfs = rapid.SliceOfNDistinct(rapid.IntRange(1, dfs), 1, 2, rapid.ID[int]).Draw(t, "awaited")
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.node, b.node),
			cmp.Compare(a.t, b.t))
	})
	return out
}

func text(r *sloutest.Run, more []fact) string {
	made := r.DFs
	r.DFs += 2
	s := r.Text()
	r.DFs = made
	for _, f := range more {
		s += f.text()
	}
	return s
}

// TestBruteForce: the totals against what the list of events says, read one finding at a time.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		r.Ended = "done"
		switch rapid.IntRange(0, 3).Draw(t, "end") {
		case 0:
			r.Kill(t)
			r.Ended = ""
		case 1:
			r.Stick(t)
		}
		more := facts(t, r)
		res := compute(t, sloutest.Build(t, text(r, more)),
			lifecycle.Options{All: true, Examples: 1000, Groups: 1000})
		want, got := brute(r, more), found(res)
		for k := range want {
			if _, told := got[k]; !told { // null for want of events
				delete(want, k)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("(-brute force +got):\n%s\n%s%v", diff, r.EventText(), more)
		}
		checkGroups(t, res)
	})
}

// TestHarmed: traces that make no sense do no harm.
func TestHarmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		r.Harm(t)
		r.Ended = rapid.SampledFrom([]string{"done", "stuck", "failed"}).Draw(t, "ended")
		checkGroups(t, compute(t, sloutest.Build(t, text(r, facts(t, r))), lifecycle.Options{}))
	})
}

// found are the totals and what they are of.
func found(res *lifecycle.Result) map[string][]string {
	out := map[string][]string{}
	for name, f := range map[string]*lifecycle.Finding{"produced": res.NeverProduced,
		"twice": res.ProducedTwice, "used": res.NeverUsed, "held": res.HeldToEnd,
		"late": res.LateRequests, "unanswered": res.Unanswered} {
		if f == nil {
			continue
		}
		out[name] = []string{}
		for _, g := range f.Groups {
			for _, x := range g.Examples {
				line := x.DF
				if name == "late" || name == "unanswered" {
					line += " by " + id(x.CF)
				}
				out[name] = append(out[name], line)
			}
		}
		slices.Sort(out[name])
	}
	if res.CFs != nil {
		out["cfs"] = []string{}
		for _, g := range res.CFs.Groups {
			for _, x := range g.Examples {
				out["cfs"] = append(out["cfs"], fmt.Sprintf("%s %s since %d", id(x.CF), g.State, x.SinceNS))
			}
		}
		slices.Sort(out["cfs"])
	}
	return out
}

// id is 0.17 of "mult[1] (0.17)".
func id(cf string) string {
	return strings.Trim(cf[strings.LastIndexByte(cf, ' ')+1:], "()")
}

func brute(r *sloutest.Run, more []fact) map[string][]string {
	set := func(name string, out map[string][]string, line string) {
		if !slices.Contains(out[name], line) {
			out[name] = append(out[name], line)
		}
	}
	out := map[string][]string{"produced": {}, "twice": {}, "used": {}, "held": {}, "late": {},
		"unanswered": {}, "cfs": {}}
	df := func(n int) string { return fmt.Sprintf("x[%d]", n) }
	made, used := map[int]bool{}, map[int]bool{}
	for _, e := range r.Events {
		if e.Kind == "DFEvents.onCreate" {
			made[e.DF] = true
		}
		for _, in := range e.Inputs {
			used[in] = true
		}
		if strings.HasPrefix(e.Kind, "DFEvents.onRequest") {
			used[e.DF] = true
		}
	}
	for _, f := range more {
		if f.kind == "CFEvents.onWaiting" {
			for _, in := range f.dfs {
				used[in] = true
			}
		}
	}
	for n := 1; n <= r.DFs+2; n++ {
		wanted := false
		for _, e := range r.Events {
			wanted = wanted || e.Kind == "DFEvents.onRequested" && e.DF == n
		}
		for _, f := range more {
			wanted = wanted || f.kind == "CFEvents.onWaiting" && slices.Contains(f.dfs, n)
			if f.kind == "DFEvents.onDuplicate" && f.df == n {
				set("twice", out, df(n))
			}
			if f.kind == "DFEvents.onDestroy" && f.reason == "end" && f.df == n && made[n] {
				set("held", out, df(n))
			}
		}
		copies := 0
		for _, f := range more {
			if f.df == n && f.kind == "DFEvents.onStored" {
				copies++
			} else if f.df == n && f.kind == "DFEvents.onDropped" {
				copies--
			}
		}
		if r.Ended == "" && copies > 0 && made[n] {
			set("held", out, df(n))
		}
		if wanted && !made[n] {
			set("produced", out, df(n))
		}
		if made[n] && !used[n] {
			set("used", out, df(n))
		}
	}
	for _, e := range r.Events {
		switch e.Kind {
		case "DFEvents.onRequested":
			if !slices.ContainsFunc(r.Events,
				func(o sloutest.Event) bool {
					return o.Kind == "DFEvents.onReceived" &&
						o.Request == e.Request
				}) {
				out["unanswered"] = append(out["unanswered"], df(e.DF)+" by "+e.CF)
			}
		case "DFEvents.onRequestReceived":
			// The last of what happened to it on that node until then.
			last, at := "", int64(-1)
			for _, f := range more {
				if f.df == e.DF && f.node == e.Node && f.t <= e.Time && f.t >= at &&
					(f.kind == "DFEvents.onStored" || f.kind == "DFEvents.onDestroy" && f.reason != "end") {
					last, at = f.kind, f.t
				}
			}
			if last == "DFEvents.onDestroy" {
				by := ""
				for _, o := range r.Events {
					if o.Kind == "DFEvents.onRequested" && o.Request == e.Request {
						by = o.CF
					}
				}
				out["late"] = append(out["late"], df(e.DF)+" by "+by)
			}
		}
	}
	for _, e := range r.Events {
		if e.Kind == "CFEvents.onCreated" {
			if s := stand(r, more, e.CF); s != "" {
				out["cfs"] = append(out["cfs"], e.CF+" "+s)
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// stand tells where a CF stood at the end, "" if it had nothing left to do, from all that is recorded of it.
func stand(r *sloutest.Run, more []fact, cf string) string {
	created, ready, started, ended, waited, left, came := int64(-1), int64(-1), int64(-1), int64(-1),
		int64(-1), int64(-1), int64(-1)
	moves := 0
	for _, e := range r.Events {
		if e.CF != cf {
			continue
		}
		switch e.Kind {
		case "CFEvents.onCreated":
			created = e.Time
		case "CFEvents.onReady":
			ready = max(ready, e.Time-e.Late)
		case "CFEvents.onStarted":
			started = e.Time
			moves++
		case "CFEvents.onFinished":
			ended = e.Time
			moves--
		case "CFEvents.onMigrated", "CFEvents.onStolen":
			left, came = e.Time, -1
		case "CFEvents.onReceived":
			left, came = -1, e.Time
			if started < 0 || ended >= 0 {
				ready = -1 // on the node that it came from
			}
		}
	}
	for _, f := range more {
		if f.kind == "CFEvents.onWaiting" && f.cf == cf {
			waited = max(waited, f.t)
		}
	}
	if moves > 0 {
		return fmt.Sprintf("running since %d", started)
	}
	if ready <= started {
		ready = -1
	}
	if waited < ended {
		waited = -1
	}
	switch {
	case left >= 0 && left >= max(ended, waited, ready):
		return fmt.Sprintf("moving since %d", left)
	case ready >= 0 && ready >= max(waited, ended):
		return fmt.Sprintf("ready since %d", ready)
	case waited >= 0:
		return fmt.Sprintf("waiting since %d", waited)
	case started >= 0:
		return ""
	}
	return fmt.Sprintf("created since %d", max(created, came))
}

// checkGroups checks that totals are the sums of the groups and that every waiting CF is told of.
func checkGroups(t *rapid.T, res *lifecycle.Result) {
	for _, f := range []*lifecycle.Finding{res.NeverProduced, res.ProducedTwice, res.NeverUsed, res.HeldToEnd,
		res.LateRequests, res.Unanswered} {
		if f == nil {
			continue
		}
		var count, bytes int64
		for _, g := range f.Groups {
			count += g.Count
			bytes += g.Bytes
			if int64(len(g.Examples)) > g.Count || g.UnusedNS > g.HeldNS {
				t.Errorf("group %+v", g)
			}
		}
		if f.More == 0 && (count != f.Count || bytes != f.Bytes) {
			t.Errorf("%d with %d bytes, the groups have %d with %d", f.Count, f.Bytes, count, bytes)
		}
	}
	c := res.CFs
	if c == nil {
		return
	}
	left, listed := int64(0), c.More
	for _, n := range c.Left {
		left += n
	}
	for _, g := range c.Groups {
		listed += g.Count
	}
	if left+c.Finished != c.Created || c.MoreGroups == 0 && listed != left {
		t.Errorf("%d created, %d finished, %d left, %d listed", c.Created, c.Finished, left, listed)
	}
	if c.Circle != (c.Roots == 0 && c.Left[lifecycle.Waiting] > 0) {
		t.Errorf("circle %v with %d roots", c.Circle, c.Roots)
	}
}
