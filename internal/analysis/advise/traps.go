package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/words"
)

// stuckLocators: a CF asked one node for a DF that another one stores. Then the answer never comes.
func (a *advisor) stuckLocators() {
	if a.facts == nil {
		return
	}
	type fault struct {
		*asked
		count int64
	}
	m := a.facts.m
	var list []*fault
	index := map[[2]uint32]*fault{}
	for i := range a.facts.asked {
		q := &a.facts.asked[i]
		if q.Stored < 0 || q.Stored == q.To {
			continue
		}
		key := [2]uint32{q.Name, q.Site}
		if index[key] == nil {
			index[key] = &fault{asked: q}
			list = append(list, index[key])
		}
		index[key].count++
	}
	slices.SortStableFunc(list, func(x, y *fault) int { return cmp.Compare(y.count, x.count) })
	for _, f := range list {
		name, reader := m.Names[f.Name], a.codeOf(f.Site)
		text := words.Say("%s never came: %s%s asks node %d for `%s`, but it is stored on node %d%s. Two locators "+
			"of `%[5]s` disagree. Every sub and loop that uses it must place it alike; a sub needs a rule of its own "+
			"for its parameter.",
			"ФВ не дождались %s: `%s`%s ищут на узле %d, а хранится он на узле %[6]d%[7]s. Локаторы `%[5]s` не "+
				"согласованы: во всех подпрограммах и циклах, где упоминается этот ФД, размещение должно быть "+
				"одинаковым, а подпрограмме (`sub`) для её параметра нужно своё правило, которое даёт тот же узел.",
			words.Number{N: f.count, What: words.DFs}, f.DF, a.by(" is not where it is looked for: ", " для ",
				f.Site+1), f.To, name, f.Stored,
			a.by(", where it was put after ", ", куда помещён после ", f.Maker))
		a.list = append(a.list, Advice{ID: "locators-disagree", Blocking: true,
			text: text,
			Evidence: map[string]any{"df": name, "example": f.DF, "count": f.count, "asked_node": f.To,
				"stored_node": f.Stored,
				"consumer":    reader, "used_at": a.statement(f.Site + 1), "made_at": a.statement(f.Maker)},
			bound: words.Say("The program cannot end until this is fixed.",
				"Пока это не исправлено, программа не сможет завершиться.")})
	}
}

const (
	muchMemory = 1 << 20 // bytes below which nothing is said about memory
	mostly     = 0.5     // of the memory at its peak must be unneeded
)

// neverFreed: DFs that nobody needs any more fill the memory.
func (a *advisor) neverFreed() {
	if a.facts == nil || a.Memory == nil || a.Lifecycle == nil || a.Lifecycle.HeldToEnd == nil ||
		a.Lifecycle.HeldToEnd.Bytes < muchMemory {
		return
	}
	peak, least := a.Memory.Total.Bytes, a.facts.least
	if peak < muchMemory || float64(peak-least) < mostly*float64(peak) {
		return
	}
	h := a.Lifecycle.HeldToEnd
	var most *lifecycle.Group
	var bytes, count int64
	for i := range h.Groups {
		if most == nil || h.Groups[i].Bytes > most.Bytes {
			most = &h.Groups[i]
		}
	}
	if most == nil {
		return
	}
	for i := range h.Groups {
		if g := &h.Groups[i]; g.Name == most.Name {
			bytes += g.Bytes
			count += g.Count
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
