package advise_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ompRun writes the trace of an OpenMP program of two threads on a machine that loses no time: what it says
// is worked out by hand. Times are in us.
type ompRun struct {
	at     [2]int // each thread's clock
	events []ompEvent
	dfs    []string
	cfs    int
}

type ompEvent struct {
	at   int
	text string
}

// ompCodes are the code fragments, by number of their statement.
var ompCodes = []string{"serial code at the start", "parallel region p.c:1", "parallel p.c:1", "single p.c:2",
	"task p.c:3", "for p.c:4", "serial code after p.c:1", "parallel region p.c:5", "parallel p.c:5"}

const (
	ompSerial = 1 + iota
	ompRegion
	ompParallel
	ompSingle
	ompTask
	ompFor
	ompAfter
	ompInnerRegion
	ompInner
)

func (r *ompRun) event(thread, at int, format string, args ...any) {
	r.events = append(r.events, ompEvent{at, fmt.Sprintf("%d n0 s%d ", at*1000, thread) + fmt.Sprintf(format, args...)})
}

// ompCF is a CF: its number, how often it has been executed, and since when it is.
type ompCF struct{ id, execution, since int }

// create makes a CF now, by another one.
func (r *ompRun) create(thread, site int, by *ompCF, index string) *ompCF {
	r.cfs++
	parent, execution := "-", 0
	if by != nil {
		parent, execution = fmt.Sprintf("0.%d", by.id), by.execution
	}
	r.event(thread, r.at[thread], "CFEvents.onCreated cf=0.%d site=%d parent=%s execution=%d weight=1 indices=[%s]",
		r.cfs, site, parent, execution, index)
	return &ompCF{id: r.cfs}
}

// start begins the next execution of a CF now, finish ends it after so long.
func (r *ompRun) start(thread int, c *ompCF, inputs ...string) {
	c.execution, c.since = c.execution+1, r.at[thread]
	r.event(thread, r.at[thread], "CFEvents.onStarted cf=0.%d execution=%d inputs=[%s]", c.id, c.execution,
		strings.Join(inputs, " "))
}

func (r *ompRun) finish(thread int, c *ompCF, us int) {
	r.at[thread] += us
	r.event(thread, r.at[thread], "CFEvents.onFinished cf=0.%d execution=%d cpu=%d", c.id, c.execution,
		(r.at[thread]-c.since)*1000)
}

func (r *ompRun) run(thread int, c *ompCF, us int, inputs ...string) {
	r.start(thread, c, inputs...)
	r.finish(thread, c, us)
}

// df is a new DF, made by a CF that has just ended on a thread.
func (r *ompRun) df(name string, thread int, by *ompCF) string {
	n := len(r.dfs) + 1
	r.dfs = append(r.dfs, fmt.Sprintf("#df %d %q [0 %d %d]\n", n, name, len(name), n))
	r.event(thread, r.at[thread], "DFEvents.onCreate df=%d size=0 cf=0.%d", n, by.id)
	return fmt.Sprint(n)
}

// ompText is the trace of 12 ms of serial code, or more, and a region in which each thread has its implicit
// task to itself.
func ompText(serial int, f func(r *ompRun, tasks [2]*ompCF)) string {
	r := &ompRun{}
	first := r.create(0, ompSerial, nil, "")
	r.run(0, first, 12_000+serial)
	region := r.create(0, ompRegion, first, "")
	r.start(0, region)
	r.at[1] = r.at[0]
	tasks := [2]*ompCF{r.create(0, ompParallel, region, ""), r.create(1, ompParallel, region, "")}
	for t, c := range tasks {
		r.run(t, c, 1)
	}
	f(r, tasks)
	last := 0
	if r.at[1] > r.at[0] {
		last = 1
	}
	r.run(last, tasks[last], 1)
	df := r.df("barrier", last, tasks[last])
	r.at[1-last] = r.at[last]
	r.run(1-last, tasks[1-last], 1, df)
	r.at[0] = max(r.at[0], r.at[1])
	r.finish(0, region, 0)
	r.run(0, r.create(0, ompAfter, nil, ""), 2, r.df("end of parallel region", 0, tasks[last]))
	var b strings.Builder
	b.WriteString(`#run {"program":"p","ended":"done","processes":[{"host":"h","cores":2}],` +
		`"nodes":[{"node":0,"host":"h","process":0,"workers":2}],"settings":{"program":"OpenMP"}}` + "\n#node 0\n")
	for i, code := range ompCodes {
		kind := "atomic"
		if strings.Contains(code, "region") {
			kind = "sub"
		}
		fmt.Fprintf(&b, "#code %d %q %s\n", i+1, code, kind)
	}
	for i := range ompCodes {
		fmt.Fprintf(&b, "#site %d code=%d\n", i+1, i+1)
	}
	b.WriteString(strings.Join(r.dfs, ""))
	slices.SortStableFunc(r.events, func(x, y ompEvent) int { return cmp.Compare(x.at, y.at) })
	b.WriteString("0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0\n" +
		"0 n0 s1 GlobalEvents.onProgramStarted process=0 cpu=0\n")
	for _, e := range r.events {
		b.WriteString(e.text + "\n")
	}
	for t := range 2 {
		fmt.Fprintf(&b, "%d n0 s%d GlobalEvents.onProgramFinished cpu=0\n", r.at[0]*1000, t)
	}
	return b.String()
}

// ompPairs are programs with a fault, and without.
var ompPairs = []struct {
	id, says string
	text     func(mended bool) string
}{
	{"one-creator", "mostly by `single p.c:2`: 100 of 100", func(mended bool) string {
		return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
			if mended { // each thread creates half of them, then executes them
				for t := range 2 {
					loop := r.create(t, ompFor, tasks[t], "")
					r.start(t, loop)
					var all []*ompCF
					for range 50 {
						r.at[t] += 400
						all = append(all, r.create(t, ompTask, loop, ""))
					}
					r.finish(t, loop, 0)
					for _, c := range all {
						r.run(t, c, 100)
					}
				}
				return
			}
			single := r.create(0, ompSingle, tasks[0], "")
			r.start(0, single)
			for range 100 {
				r.at[0] += 400
				c := r.create(0, ompTask, single, "")
				r.at[1] = r.at[0]
				r.run(1, c, 100)
			}
			r.finish(0, single, 0)
		})
	}},
	{"taskwait", "because `single p.c:2` waits in `taskwait`", func(mended bool) string {
		return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
			single := r.create(0, ompSingle, tasks[0], "")
			r.start(0, single)
			if mended { // each half goes on by itself
				var all [2][]*ompCF
				for i := range 40 {
					all[i%2] = append(all[i%2], r.create(0, ompTask, single, ""))
				}
				r.finish(0, single, 1)
				r.at[1] = r.at[0]
				for t := range 2 {
					var before []string
					for step, c := range all[t] {
						r.run(t, c, 1000+4000*((t+step)%2), before...)
						before = []string{r.df("half", t, c)}
					}
				}
				return
			}
			for step := range 20 {
				a, b := r.create(0, ompTask, single, ""), r.create(0, ompTask, single, "")
				r.finish(0, single, 1)
				r.at[1] = r.at[0]
				r.run(0, a, 1000+4000*(step%2))
				r.run(1, b, 5000-4000*(step%2))
				last, by := 0, a
				if r.at[1] > r.at[0] {
					last, by = 1, b
				}
				df := r.df("taskwait", last, by)
				r.at[0] = max(r.at[0], r.at[1])
				r.start(0, single, df)
			}
			r.finish(0, single, 1)
		})
	}},
	{"wide-depend", "because 39 tasks depend on `array`", func(mended bool) string {
		return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
			single := r.create(0, ompSingle, tasks[0], "")
			r.start(0, single)
			var all []*ompCF
			for range 40 {
				all = append(all, r.create(0, ompTask, single, ""))
			}
			r.finish(0, single, 1)
			r.at[1] = r.at[0]
			var before [2][]string
			for i, c := range all {
				t, name := i%2, fmt.Sprintf("array[%d]", i%2)
				if !mended {
					r.at[t] = max(r.at[t], r.at[1-t])
					before[t], name = before[0], "array"
				}
				r.run(t, c, 1000, before[t]...)
				before[t] = []string{r.df(name, t, c)}
				if !mended {
					before[0] = before[t]
				}
			}
		})
	}},
	{"uneven-loop", "mostly after `for p.c:4`: some of its iterations take longer than others. Best is `schedule(dynamic, 12)`",
		func(mended bool) string {
			return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
				if !mended {
					for t := range 2 {
						r.run(t, r.create(t, ompFor, tasks[t], fmt.Sprint(200*t)), 8000+72_000*t)
					}
					return
				}
				for i := 0; i < 400; i += 10 {
					t := 0
					if r.at[1] < r.at[0] {
						t = 1
					}
					r.run(t, r.create(t, ompFor, tasks[t], fmt.Sprint(i)), 400+3600*(i/200))
				}
			})
		}},
	{"uneven-loop", "Best is `schedule(dynamic, 12)`", func(mended bool) string {
		size := 80 // iterations; the last 80 take four times as long as others
		if mended {
			size = 10
		}
		return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
			for i := 0; i < 400; i += size {
				t := 0
				if r.at[1] < r.at[0] {
					t = 1
				}
				r.run(t, r.create(t, ompFor, tasks[t], fmt.Sprint(i)), size*150*(1+3*(i/320)))
			}
		})
	}},
	{"serial-code", "mostly in `serial code at the start`", func(mended bool) string {
		serial, more := 80_000, 0
		if mended {
			serial, more = 0, 40_000
		}
		return ompText(serial, func(r *ompRun, tasks [2]*ompCF) {
			for t := range 2 {
				r.run(t, r.create(t, ompFor, tasks[t], fmt.Sprint(t)), 40_000+more)
			}
		})
	}},
	{"nested-regions", "100 parallel regions began inside of others, mostly `parallel p.c:5`",
		func(mended bool) string {
			return ompText(0, func(r *ompRun, tasks [2]*ompCF) {
				for t := range 2 { // each inner team has its own thread alone: the other one is late, and idles
					loop := r.create(t, ompFor, tasks[t], fmt.Sprint(t))
					r.start(t, loop)
					for range 50 {
						if mended {
							r.at[t] += 100
							continue
						}
						region := r.create(t, ompInnerRegion, loop, "")
						r.finish(t, loop, 0)
						r.start(t, region)
						r.at[t] += 30
						r.run(t, r.create(t, ompInner, region, ""), 100)
						r.at[t] += 30
						r.finish(t, region, 0)
						r.start(t, loop)
					}
					r.finish(t, loop, 0)
				}
			})
		}},
}

// TestOpenMPPairs: a fault is named, with the gain that mending it gives, and no word of it is said of the
// mended program.
func TestOpenMPPairs(t *testing.T) {
	for _, p := range ompPairs {
		slow, mended := analyse(t, p.text(false)), analyse(t, p.text(true))
		a := slow.find(p.id)
		if a == nil || !strings.Contains(a.Text, p.says) {
			t.Errorf("%s: %+v", p.id, slow.list)
			continue
		}
		if b := mended.find(p.id); b != nil {
			t.Errorf("%s is said of the mended program: %s", p.id, b.Text)
		}
		gained := slow.res.WallNS - mended.res.WallNS
		if d := a.GainWallNS - gained; 10*max(d, -d) > gained {
			t.Errorf("%s: %d ns are promised, %d were gained: %s %s", p.id, a.GainWallNS, gained, a.Text, a.Bound)
		}
		for _, x := range slow.list {
			if x.GainWallNS > a.GainWallNS {
				t.Errorf("%s comes after %s: %s", p.id, x.ID, x.Text)
			}
		}
	}
}
