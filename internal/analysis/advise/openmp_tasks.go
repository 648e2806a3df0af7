package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Why threads of an OpenMP program have no task to execute. A thread that executes nothing before a task, or
// before a `taskwait` is over, waits for one of three things. It is charged to the one that came last:
//
//	another thread creates the task, and has not come to it
//	whoever creates it waits for other tasks, in a taskwait
//	a task that this one depends on has not ended
//
// A taskwait counts only if more tasks are created after it by the same code: one that a result is taken
// from, as in a recursion, must stay.

// taskWaits is what threads waited for, in ns.
type taskWaits struct {
	created  map[string]int64 // by code fragment that creates the tasks
	taskwait map[string]int64 // by code fragment that waits
	depend   map[string]int64 // by name of the variable
	tasks    map[string]int64 // how many tasks a code fragment creates
	all      int64            // tasks
	given    map[string]int64 // how many tasks wait for a variable of that name
}

// joins are the names of DFs that are no variables.
var joins = map[string]bool{barrier: true, taskwait: true, "taskgroup": true, "end of parallel region": true,
	"end of thread": true, "condition variable": true, "semaphore": true}

func (a *advisor) taskWaits() *taskWaits {
	m := a.facts.m
	w := &taskWaits{map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}, 0,
		map[string]int64{}}
	name := func(cf model.CF) string { return m.Codes[m.CodeOf(cf)].Name }
	creates := model.Make[uint32](m, len(m.Created)) // by CF: its last execution that created a task
	for i, parent := range m.Parent {
		if parent != 0 && isTask(name(model.CF(i))) {
			creates[parent] = max(creates[parent], m.ParentExec[i])
			w.tasks[name(parent)]++
			w.all++
		}
	}
	until := m.BusyUntil()
	for _, worker := range m.OwnWorkers() {
		free := m.Start
		for e := worker.First; e < worker.End; e++ {
			w.before(m, e, free, creates)
			free = max(free, until[e])
		}
	}
	return w
}

// before takes the time before an execution, on a thread that was free since then.
func (w *taskWaits) before(m *model.Model, e int, free int64, creates []uint32) {
	cf, start := m.ExecCF[e], m.ExecStart[e]
	code := m.Codes[m.CodeOf(cf)].Name
	task := isTask(code) && m.ExecNumber[e] == 1
	from := free
	if parent := m.Parent[cf]; task && parent != 0 && m.Created[cf] != model.None {
		by, ok := m.Execution(parent, m.ParentExec[cf])
		if ok && m.ExecNumber[by] > 1 && gave(m, by, taskwait) {
			w.taskwait[m.Codes[m.CodeOf(parent)].Name] += max(min(m.ExecStart[by], start)-from, 0)
		}
		if ok {
			from = max(from, m.ExecStart[by])
		}
		until := min(m.Created[cf], start)
		w.created[m.Codes[m.CodeOf(parent)].Name] += max(until-from, 0)
		from = max(from, until)
	}
	var seen [4]string
	n := 0
	for _, df := range m.Inputs(e) {
		name := m.DFNameOf(df)
		made, ok := m.Creation(df, start)
		if !ok {
			continue
		}
		ns := max(min(m.MadeTime[made], start)-from, 0)
		switch {
		case name == taskwait && creates[cf] >= m.ExecNumber[e]:
			w.taskwait[code] += ns
		case task && !joins[name]:
			w.depend[name] += ns
			if !slices.Contains(seen[:n], name) {
				w.given[name]++
				if n < len(seen) {
					seen[n] = name
					n++
				}
			}
		default:
			continue
		}
		from += ns
	}
}

// gave tells whether an execution was given a DF of that name.
func gave(m *model.Model, e int, name string) bool {
	return slices.ContainsFunc(m.Inputs(e), func(df model.DF) bool { return m.DFNameOf(df) == name })
}

// ofTasks: threads have nothing to execute, because of how tasks are created and what they depend on.
func (a *advisor) ofTasks() {
	w := a.taskWaits()
	if w.all == 0 || a.workers < 2 {
		return
	}
	byName := func(x, y string) int { return cmp.Compare(x, y) }
	sum := func(of map[string]int64) (ns int64) {
		for _, v := range of {
			ns += v
		}
		return ns
	}
	if code, ns := most(w.created, byName); ns > 0 {
		all := sum(w.created)
		a.addTime("one-creator", all, words.Say("If all threads created tasks, nobody would wait for the first "+
			"one.",
			"Если бы задачи создавали все потоки, никто не ждал бы первой задачи."),
			map[string]any{"code": code, "tasks": w.tasks[code], "all_tasks": w.all, "waited_ns": all}, words.Say(
				"Threads waited %s (%s) for tasks to be created, mostly by `%s`: %d of %d. Let several threads create "+
					"them: `taskloop`, a `for` whose iterations create tasks, or tasks that create tasks. Or take work "+
					"from the code that creates them into the tasks.",
				"Потоки ждали создания задач %s (%s); больше всего их создаёт `%s`: %d из %d. Пусть задачи создают "+
					"несколько потоков: `taskloop`, цикл `for`, в итерациях которого создаются задачи, или задачи, "+
					"создающие задачи. Или перенесите часть работы создающего кода в сами задачи.",
				words.Time(all), a.share(all), code, w.tasks[code], w.all))
	}
	if code, ns := most(w.taskwait, byName); ns > 0 {
		all := sum(w.taskwait)
		a.addTime("taskwait", all, words.Say("If each task waited only for those whose results it takes, the "+
			"threads would have that much more time.",
			"Если бы каждая задача ждала только тех, чьи результаты ей нужны, у потоков было бы на столько больше "+
				"времени."), map[string]any{"code": code, "waited_ns": all}, words.Say(
			"Threads waited %s (%s) because `%s` waits in `taskwait` for all its tasks before it creates the next "+
				"ones. Say with `depend` which tasks need each other, and leave the `taskwait` out.",
			"Потоки ждали %s (%s), потому что `%s` ждёт в `taskwait` все свои задачи, прежде чем создать следующие. "+
				"Укажите в `depend`, какие задачи нужны друг другу, и уберите `taskwait`.",
			words.Time(all), a.share(all), code))
	}
	name, ns := most(w.depend, byName)
	// Nearly all that depends on anything depends on this: it orders tasks that may have nothing in common.
	if given := sum(w.given); ns > 0 && 10*w.given[name] > 8*given {
		a.addTime("wide-depend", ns, words.Say("If those tasks could run at the same time, the threads would "+
			"have that much more time.",
			"Если бы эти задачи могли исполняться одновременно, у потоков было бы на столько больше времени."),
			map[string]any{"variable": name, "tasks": w.given[name], "waited_ns": ns}, words.Say(
				"Threads waited %s (%s) because %d tasks depend on `%s`, one after the other. If each uses a part of it "+
					"only, depend on that part: `depend(inout: x[i])`. If their order does not matter, use "+
					"`mutexinoutset`, or a reduction.",
				"Потоки ждали %s (%s), потому что от `%[4]s` зависят по очереди задачи: %[3]d. Если каждой нужна только "+
					"часть, укажите в зависимости эту часть: `depend(inout: x[i])`. Если порядок не важен, используйте "+
					"`mutexinoutset` или редукцию.",
				words.Time(ns), a.share(ns), w.given[name], name))
	}
}

// cutOff says below which level a recursion should create no tasks, so that one is left of so many; nothing
// where tasks create no tasks.
func (a *advisor) cutOff(f *slou.Fragment, times int64, evidence map[string]any) words.Text {
	m := a.facts.m
	of := make([]bool, len(m.Codes))
	for i := range m.Codes {
		of[i] = m.Codes[i].Name == f.Code
	}
	level := model.Make[int32](m, len(m.Created)) // from 1: it creates no such tasks
	open := model.Make[int32](m, len(m.Created))  // its tasks whose level is not known; below 0: nor is it such a task
	tasks, recursive := int64(0), false
	for i, parent := range m.Parent {
		if !of[m.CodeOf(model.CF(i))] || m.Created[i] == model.None {
			open[i] = -1
			continue
		}
		tasks++
		if parent != 0 && of[m.CodeOf(parent)] && m.Created[parent] != model.None {
			open[parent]++
			recursive = true
		}
	}
	if !recursive {
		return words.Text{}
	}
	count := make([]int64, 2) // by level
	for i := range open {
		// From a task that creates none up to one that has created others whose level is not known.
		for cf := model.CF(i); open[cf] == 0; {
			open[cf] = -1
			level[cf]++
			for int(level[cf]) >= len(count) {
				count = append(count, 0)
			}
			count[level[cf]]++
			if p := m.Parent[cf]; p != 0 && open[p] > 0 {
				level[p] = max(level[p], level[cf])
				open[p]--
				cf = p
			}
		}
	}
	left, levels := tasks, 0
	for levels+1 < len(count) && left*times > tasks {
		levels++
		left -= count[levels]
	}
	if levels == 0 || left == 0 {
		return words.Text{}
	}
	evidence["levels"], evidence["left"] = levels, left
	return words.Say(", at best none in the lowest %d levels of the recursion: that leaves %d of %d",
		", лучше всего — без задач на нижних %d уровнях рекурсии: тогда из %[3]d останется %[2]d", levels, left,
		tasks)
}
