package advise

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// What only OpenMP programs are told: here, about code outside of parallel regions, and about regions inside
// of others; in openmp_loops.go and openmp_tasks.go, about loops and tasks. The names are those that sdk/omp
// gives to what it records.

const (
	serialCode     = "serial code"
	parallelRegion = "parallel region"
	parallelThread = "parallel"
	loopChunk      = "for"
	barrier        = "barrier"
	taskwait       = "taskwait"
)

// construct tells whether a code fragment is one of those constructs: the words before its place.
func construct(code string, names ...string) bool {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(code, name); ok && (rest == "" || rest[0] == ' ') {
			return true
		}
	}
	return false
}

// isTask tells whether a code fragment is that of explicit tasks.
func isTask(code string) bool {
	return construct(code, "task", "taskloop", "untied task", "final task", "undeferred task")
}

// openMP tells whether the program uses OpenMP: what it is advised to do is in that language.
func (a *advisor) openMP() bool { return a.facts != nil && a.facts.m.OpenMP() }

const (
	// littleSerial is the share of the run that may pass outside of parallel regions without a word.
	littleSerial = 0.05
	// loading is how long a process may take to load its libraries, before its first line: no code to share.
	loading = 10_000_000 // ns
)

// serial: one thread executes the code outside of parallel regions, the others wait.
func (a *advisor) serial() {
	var most *slou.Fragment
	all, code := int64(0), int64(0) // code: without loading
	for i := range a.res.Fragments {
		f := &a.res.Fragments[i]
		if !strings.HasPrefix(f.Code, serialCode) {
			continue
		}
		all, code = all+f.UsefulNS, code+f.UsefulNS
		if f.Code == serialCode+" at the start" {
			code -= min(f.UsefulNS, loading)
		}
		if most == nil || f.UsefulNS > most.UsefulNS {
			most = f
		}
	}
	if most == nil || a.workers < 2 || float64(code) < littleSerial*float64(a.res.WallNS) {
		return
	}
	a.addWall("serial-code", code-code/a.workers, words.Say("Shared evenly by all threads, that code would "+
		"end that "+
		"much sooner.", "Если бы этот код поровну делили все потоки, он заканчивался бы на столько же раньше."),
		map[string]any{"code": most.Code, "serial_ns": all, "code_ns": most.UsefulNS}, words.Say(
			"One thread worked %s outside of parallel regions, mostly in `%s` (%s); the others waited. Find what "+
				"takes the time there, and share it: a `parallel for`, or tasks.",
			"Вне параллельных областей один поток работал %s, больше всего — `%s` (%s), а остальные ждали. Найдите, "+
				"что там занимает время, и разделите это между потоками: `parallel for` или задачи.",
			words.Time(all), most.Code, words.Time(most.UsefulNS)))
}

// nested: parallel regions inside of others take longer to begin and to end than they are worth.
func (a *advisor) nested() {
	if a.replay == nil {
		return
	}
	m := a.facts.m
	lost, count, sites := int64(0), int64(0), map[string]int64{}
	inner := make([]bool, len(m.Created)) // regions inside of others
	name := func(cf model.CF) string { return m.Codes[m.CodeOf(cf)].Name }
	for i, parent := range m.Parent {
		if parent != 0 && construct(name(model.CF(i)), parallelRegion) && !construct(name(parent), serialCode) {
			inner[i] = true
			count++
		}
	}
	if count < 2 {
		return
	}
	began, ended := a.lifetimes()
	for i, region := range m.Parent {
		if region == 0 || !inner[region] || began[i] == model.None || m.Created[region] == model.None {
			continue
		}
		code := name(model.CF(i))
		ns := max(began[i]-m.Created[region], 0)
		if own, ok := m.Execution(region, 1); ok {
			ns += max(m.EndOf(own)-max(ended[i], began[i]), 0)
		}
		lost, sites[code] = lost+ns, sites[code]+ns
	}
	code, _ := most(sites, strings.Compare)
	a.addTime("nested-regions", lost, words.Say("Without the inner regions, their threads would have that "+
		"much more time.", "Без внутренних областей у их потоков было бы на столько больше времени."),
		map[string]any{"code": code, "count": count, "lost_ns": lost}, words.Say(
			"%s began inside of others, mostly `%s`. Their threads spent %s (%s) beginning, and waiting for the last "+
				"one. Share the work among the threads of the outer region: `collapse`, or tasks. Or allow one level "+
				"only: `OMP_MAX_ACTIVE_LEVELS=1`.",
			"Внутри других начато %s, больше всего — `%s`. Их потоки потратили %s (%s), начинаясь и ожидая "+
				"последнего. Разделите работу между потоками внешней области: `collapse` или задачи. Или разрешите "+
				"только один уровень: `OMP_MAX_ACTIVE_LEVELS=1`.",
			words.Number{N: count, What: regions}, code, words.Time(lost), a.share(lost)))
}

var regions = words.Noun{One: "parallel region", More: "parallel regions",
	Russian: [3]string{"параллельная область", "параллельные области", "параллельных областей"}}

// lifetimes gives, by CF, when its first execution began (None: there is none), and when the last one of it
// or of what it has created has ended.
func (a *advisor) lifetimes() (began, ended []int64) {
	m := a.facts.m
	began, ended = model.Make[int64](m, len(m.Created)), model.Make[int64](m, len(m.Created))
	for i := range began {
		began[i], ended[i] = model.None, model.None
	}
	for e, cf := range m.ExecCF {
		if began[cf] == model.None || m.ExecStart[e] < began[cf] {
			began[cf] = m.ExecStart[e]
		}
		end := m.EndOf(e)
		ended[cf] = max(ended[cf], end)
		if p := m.Parent[cf]; p != 0 {
			ended[p] = max(ended[p], end)
		}
	}
	return began, ended
}
