package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/lifecycle"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/units"
	"github.com/whyslow/whyslow/trace"
)

// stuckLocators: a CF asked one node for a DF that another one stores. Then the answer never comes.
func (a *advisor) stuckLocators() {
	m := a.Model
	if m == nil || m.Info.Ended != trace.EndedStuck || len(m.Nodes) < 2 {
		return
	}
	asked := a.unanswered()
	if len(asked) == 0 {
		return
	}
	stored := map[model.DF]uint16{}
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What == model.CopyStored {
			stored[c.DF] = c.Node
		}
	}
	type fault struct {
		name, by     uint32
		count        int64
		df           model.DF
		cf           model.CF
		from, to, at int32
	}
	var list []*fault
	index := map[[2]uint32]*fault{}
	for _, q := range asked {
		at, ok := stored[q.DF]
		if !ok || int32(at) == q.To {
			continue
		}
		key := [2]uint32{m.DFName[q.DF], m.SiteOf[q.CF]}
		f := index[key]
		if f == nil {
			f = &fault{name: key[0], by: key[1], df: q.DF, cf: q.CF, from: q.From, to: q.To, at: int32(at)}
			index[key] = f
			list = append(list, f)
		}
		f.count++
	}
	slices.SortStableFunc(list, func(x, y *fault) int { return cmp.Compare(y.count, x.count) })
	for _, f := range list {
		var maker model.CF
		if i, ok := m.Creation(f.df, m.End); ok {
			maker = m.MadeBy[i]
		}
		reader := m.Codes[m.CodeOf(f.cf)].Name
		text := units.Say("%s never came: %s%s asks node %d for `%s`, which is stored on node %d%s. Two locators of `%[5]s` disagree; every sub and loop that mentions it must place it alike, and a sub needs its own rule for its parameter, with the same result.",
			"ФВ не дождались %s: `%s`%s ищут на узле %d, а хранится он на узле %[6]d%[7]s. Локаторы `%[5]s` не согласованы: во всех подпрограммах и циклах, где упоминается этот ФД, размещение должно быть одинаковым, а подпрограмме (`sub`) для её параметра нужно своё правило, которое даёт тот же узел.",
			units.Number{N: f.count, What: units.DFs}, m.DFString(f.df), a.by(" is not where it is looked for: ", " для ", reader, f.cf), f.to, m.Names[f.name], f.at,
			a.by(", where it was put after ", ", куда помещён после ", m.Codes[m.CodeOf(maker)].Name, maker))
		a.list = append(a.list, Advice{ID: "locators-disagree", Blocking: true,
			Text: text.In(a.lang),
			Evidence: map[string]any{"df": m.Names[f.name], "example": m.DFString(f.df), "count": f.count, "asked_node": f.to, "stored_node": f.at,
				"consumer": reader, "used_at": a.statement(f.cf), "made_at": a.statement(maker)},
			Bound: units.Say("The program cannot end before this is mended.", "Пока это не исправлено, программа не сможет завершиться.").In(a.lang)})
	}
}

// asked is a DF that was asked for and did not come.
type asked struct {
	DF       model.DF
	CF       model.CF
	From, To int32
}

// unanswered gives the requests without an answer, and what CFs that never ran waited for on their own node.
func (a *advisor) unanswered() (list []asked) {
	m := a.Model
	answered := make([]bool, len(m.Requests))
	for i := range m.DFMessages {
		if q := m.DFMessages[i].Request; int(q) < len(answered) && m.DFMessages[i].Received != model.None {
			answered[q] = true
		}
	}
	type wait struct {
		df model.DF
		cf model.CF
	}
	remote := map[wait]bool{}
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		if q.DF == 0 || q.Sent == model.None {
			continue
		}
		remote[wait{q.DF, q.CF}] = true
		if !answered[i] {
			list = append(list, asked{q.DF, q.CF, q.From, q.To})
		}
	}
	for i, cf := range m.Awaits.CF {
		if m.ExecOf[cf] != 0 {
			continue
		}
		node := int32(m.CFID(cf).Node())
		if g := m.MovesOf(cf); len(g) > 0 {
			node = g[len(g)-1].To
		}
		for _, df := range m.Awaits.Of(i) {
			if df != 0 && !remote[wait{df, cf}] {
				remote[wait{df, cf}] = true
				list = append(list, asked{df, cf, node, node})
			}
		}
	}
	return list
}

const (
	muchMemory = 1 << 20 // bytes below which nothing is said about memory
	mostly     = 0.5     // of the memory at its peak must be unneeded
)

// neverFreed: DFs that nobody needs any more fill the memory.
func (a *advisor) neverFreed() {
	m := a.Model
	if m == nil || a.Lifecycle == nil || a.Lifecycle.HeldToEnd == nil || a.Lifecycle.HeldToEnd.Bytes < muchMemory {
		return
	}
	peak, least := a.memory()
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
	var made units.Text
	if most.By.Code != "" {
		made = units.Say(", made by `%s` (%s:%d)", ", вычисляет `%s` (%s:%d)", most.By.Code, most.By.File, most.By.Line)
	}
	text := units.Say("DFs are never freed: %s of `%s` (%s%s) were still held at the end of the run, long after their last use. Freed in time, all DFs together would take %s at most instead of %s: give the number of reads where they are made (`@ { req_count %[2]s = N; }`), or delete them after the last one (`--> (%[2]s)`).",
		"ФД не освобождаются: в конце запуска всё ещё хранилось %s `%s` (%s%s), давно никому не нужных. При своевременном освобождении все ФД вместе занимали бы не больше %s вместо %s: укажите число чтений там, где они вычисляются (`@ { req_count %[2]s = N; }`), или удаляйте их после последнего чтения (`--> (%[2]s)`).",
		units.Number{N: count, What: units.DFs}, most.Name, units.Size(bytes), made, units.Size(least), units.Size(peak))
	a.list = append(a.list, Advice{ID: "never-freed", GainBytes: peak - least,
		Text:     text.In(a.lang),
		Evidence: map[string]any{"df": most.Name, "held": count, "held_bytes": bytes, "all_held_bytes": h.Bytes, "peak_bytes": peak, "needed_bytes": least},
		Bound: units.Say("If every DF were freed right after its last use, %s would be held at the peak.",
			"Если освобождать каждый ФД сразу после последнего чтения, в пике будет храниться %s.", units.Size(least)).In(a.lang)})
}

// memory gives the bytes that the DFs' copies take at their peak, and what they would take if each were freed when it was
// used the last time.
func (a *advisor) memory() (peak, least int64) {
	m := a.Model
	last := make([]int64, m.DFs())
	for df := range last {
		last[df] = model.None
	}
	for e := range m.ExecCF {
		end := m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		for _, df := range m.Inputs(e) {
			last[df] = max(last[df], end)
		}
	}
	for i := range m.DFMessages {
		if g := &m.DFMessages[i]; g.DF != 0 {
			last[g.DF] = max(last[g.DF], g.Sent)
		}
	}
	copies := slices.Clone(m.Copies)
	slices.SortStableFunc(copies, func(x, y model.Copy) int { return cmp.Compare(x.Time, y.Time) })
	type step struct{ time, bytes int64 }
	type place struct {
		df   model.DF
		node uint16
	}
	type held struct{ since, bytes int64 }
	var steps []step // of the second kind, in any order
	holding := map[place]held{}
	free := func(df model.DF, h held, until int64) {
		if h.bytes > 0 {
			steps = append(steps, step{h.since, h.bytes}, step{min(max(last[df], h.since), until), -h.bytes})
		}
	}
	var now int64
	for i := range copies {
		c := &copies[i]
		k := place{c.DF, c.Node}
		h := holding[k]
		free(c.DF, h, c.Time)
		now -= h.bytes
		delete(holding, k)
		if made, ok := m.Creation(c.DF, c.Time); ok && c.What == model.CopyStored {
			holding[k] = held{c.Time, m.MadeSize[made]}
			now += m.MadeSize[made]
			peak = max(peak, now)
		}
	}
	for k, h := range holding {
		free(k.df, h, m.End)
	}
	slices.SortFunc(steps, func(x, y step) int { return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.bytes, y.bytes)) })
	now = 0
	for i := range steps {
		now += steps[i].bytes
		least = max(least, now)
	}
	return peak, least
}
