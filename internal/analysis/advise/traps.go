package advise

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// stuckLocators: a CF asked one node for a DF that another one stores. Then the answer never comes.
func (a *advisor) stuckLocators() {
	if a.Lifecycle == nil || a.Lifecycle.Ended != trace.EndedStuck {
		return
	}
	list := slices.Clone(a.Lifecycle.Misplaced)
	slices.SortStableFunc(list, func(x, y lifecycle.Misplaced) int { return cmp.Compare(y.Count, x.Count) })
	for _, f := range list {
		mend := words.Say("Every sub and loop that uses it must place it the same way. A sub does not know the "+
			"rules of its caller: it needs a rule of its own for its parameter, or looks on node 0.",
			"Во всех подпрограммах и циклах, где упоминается этот ФД, размещение должно быть одинаковым. Правила "+
				"вызывающей подпрограммы в вызванной не действуют: ей для её параметра нужно своё правило, иначе она "+
				"ищет на узле 0.")
		if f.Missing != "" {
			mend = words.Say("A sub does not know the rules of its caller: add `%s;` to %s.",
				"Правила вызывающей подпрограммы в вызванной не действуют: добавьте `%s;` в %s.", f.Missing, f.Sub)
		}
		text := words.Say("%s never came: `%s` was made%s and lies on node %d%s, but%s looks for it on node "+
			"%d%s. Two locators of `%s` disagree. %s",
			"ФВ не дождались %s: `%s` вычислен%s и хранится на узле %d%s, а%s ищет его на узле %d%s. Локаторы "+
				"`%s` не согласованы. %s",
			words.Number{N: f.Count, What: words.DFs}, f.DF, by(" by ", " фрагментом ", f.Maker), f.Stored, f.StoredBy,
			by(" ", " ", f.By), f.Asked, f.AskedBy, f.Name, mend)
		a.list = append(a.list, Advice{ID: "locators-disagree", Blocking: true, text: text,
			Evidence: map[string]any{"df": f.Name, "example": f.DF, "count": f.Count, "asked_node": f.Asked,
				"stored_node": f.Stored, "consumer": f.By.Code, "used_at": at(f.By), "made_at": at(f.Maker),
				"missing_rule": f.Missing, "missing_in": f.Sub},
			bound: words.Say("The program cannot end until this is fixed.",
				"Пока это не исправлено, программа не сможет завершиться.")})
	}
}

// at is the place of a statement, "" where it is not known.
func at(p lifecycle.Place) string {
	if p.File == "" || p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// by names the code fragment that a statement calls, and the statement, after a word; nothing where they are
// not known.
func by(english, russian string, p lifecycle.Place) words.Text {
	if p.Code == "" {
		return words.Text{}
	}
	named := "`" + p.Code + "`"
	if at := at(p); at != "" {
		named += " (" + at + ")"
	}
	return words.Say(english+"%s", russian+"%s", named)
}

const (
	muchMemory = 1 << 20 // bytes below which nothing is said about memory
	mostly     = 0.5     // of the memory at its peak must be unneeded
)

// neverFreed: DFs that nobody needs any more fill the memory.
func (a *advisor) neverFreed() {
	if !a.facts.need.Memory || a.Memory == nil {
		return
	}
	peak, least := a.Memory.Total.Bytes, a.facts.least
	if peak < muchMemory || float64(peak-least) < mostly*float64(peak) {
		return
	}
	h := a.Lifecycle.HeldToEnd
	most, _ := largest(h.Groups, func(g *lifecycle.Group) int64 { return g.Bytes })
	if most == nil {
		return
	}
	var bytes, count int64
	for i := range h.Groups {
		if g := &h.Groups[i]; g.Name == most.Name {
			bytes, count = bytes+g.Bytes, count+g.Count
		}
	}
	var made words.Text
	if most.By.Code != "" {
		made = words.Say(", made by `%s` (%s:%d)", ", вычисляет `%s` (%s:%d)", most.By.Code, most.By.File,
			most.By.Line)
	}
	text := words.Say("DFs are never freed: %s of `%s` (%s%s) were still held at the end of the run, long "+
		"after their last use. Freed in time, all DFs would take at most %s instead of %s. Give the number of "+
		"reads where they are made (`@ { req_count %[2]s = N; }`), or delete them after the last one (`--> "+
		"(%[2]s)`).",
		"ФД не освобождаются: в конце запуска всё ещё хранилось %s `%s` (%s%s), давно никому не нужных. При "+
			"своевременном освобождении все ФД вместе занимали бы не больше %s вместо %s: укажите число чтений там, "+
			"где они вычисляются (`@ { req_count %[2]s = N; }`), или удаляйте их после последнего чтения (`--> "+
			"(%[2]s)`).",
		words.Number{N: count, What: words.DFs}, most.Name, words.Size(bytes), made, words.Size(least),
		words.Size(peak))
	a.list = append(a.list, Advice{ID: "never-freed", GainBytes: peak - least,
		text: text,
		Evidence: map[string]any{"df": most.Name, "held": count, "held_bytes": bytes, "all_held_bytes": h.Bytes,
			"peak_bytes": peak, "needed_bytes": least},
		bound: words.Say("With every DF freed right after its last use, the peak is %s.",
			"Если освобождать каждый ФД сразу после последнего чтения, в пике будет храниться %s.",
			words.Size(least))})
}

// How little memory the copies of DFs could take at their peak, if each were freed right after its last use.
// The peak is one of all nodes together, so processes tell each other what changes when.

// byteChange is a change of the bytes that are needed.
type byteChange struct{ Time, Bytes int64 }

// findMemory lists, for the copies on own nodes, when they would have to be there.
func (f *found) findMemory(m *model.Model, g procs.Group) error {
	last, err := lastUses(m, g)
	if err != nil {
		return err
	}
	for h := range m.Holdings() {
		if h.From == model.None || h.Bytes == 0 {
			continue
		}
		until := h.To
		if until == model.None {
			until = m.End
		}
		until = min(max(last[h.DF], h.From), until)
		f.Needed = append(f.Needed, byteChange{m.InRun(h.From), h.Bytes},
			byteChange{m.InRun(until), -h.Bytes})
	}
	return nil
}

// peakOf is the greatest sum of the changes at any moment. Changes at one moment count together.
func peakOf(changes []byteChange) (peak int64) {
	slices.SortFunc(changes, func(x, y byteChange) int { return cmp.Compare(x.Time, y.Time) })
	var now int64
	for i, c := range changes {
		now += c.Bytes
		if i+1 == len(changes) || changes[i+1].Time > c.Time {
			peak = max(peak, now)
		}
	}
	return peak
}

// lastUses gives, by DF, when it was last sent, or when the last CF that was given it ended; None for never.
func lastUses(m *model.Model, g procs.Group) ([]int64, error) {
	last := m.LastGiven()
	for i := range m.DFMessages {
		if g := &m.DFMessages[i]; g.DF != 0 {
			last[g.DF] = max(last[g.DF], g.Sent)
		}
	}
	return last, model.JoinDFs(m, g, func(df model.DF) (int64, bool) { return last[df], true },
		func(x, y int64) int64 { return max(x, y) }, func(df model.DF, t int64) { last[df] = t })
}
