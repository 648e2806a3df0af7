package lifecycle

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Inside is a CF that did not come back from user code: its run was ended or killed.
type Inside struct {
	trace.InsideInfo
	Code string     `json:"code"` // the code fragment
	Text words.Text `json:"text"` // what the reports say of it
}

const (
	// worthNaming is how long a CF must have been running that run.json does not tell of.
	worthNaming = 1_000_000_000
	shownInside = 8 // CFs
	shownCalls  = 3 // of one
)

// found is an Inside without its text.
type found struct {
	Info trace.InsideInfo
	Code string
	Told bool // by run.json
}

// findInside finds them at the own nodes, and brings them to rank 0: those first that had been running
// longest.
func (s *finder) findInside() (list []Inside, more int, err error) {
	own := s.insideHere()
	err = procs.Collect(s.g, func() []found { return own }, func(_ int, theirs *[]found) error {
		own = append(own, *theirs...)
		return nil
	})
	slices.SortStableFunc(own, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Info.NS, a.Info.NS), cmp.Compare(a.Info.Node, b.Info.Node),
			cmp.Compare(a.Info.Worker, b.Info.Worker))
	})
	for i := range own[:min(len(own), shownInside)] {
		x := &own[i]
		list = append(list, Inside{InsideInfo: x.Info, Code: x.Code})
		text := &list[i].Text
		switch {
		case x.Told:
			*text = StayedInside(&x.Info)
		case s.m.Info.Ended == "":
			*text = words.Say("%s; where in its code is not known, because the program was killed or still runs",
				"%s; в каком месте кода, неизвестно: программа убита или ещё работает", stayed(&x.Info))
		default:
			*text = words.Say("%s; where in its code is not known", "%s; в каком месте кода, неизвестно",
				stayed(&x.Info))
		}
	}
	return list, len(own) - len(list), err
}

// insideHere finds those of the own nodes.
func (s *finder) insideHere() (list []found) {
	m := s.m
	told := map[string]*trace.InsideInfo{}
	for i := range m.Info.Inside {
		told[m.Info.Inside[i].CF] = &m.Info.Inside[i]
	}
	for node := range m.Nodes {
		if !m.Own(node) {
			continue
		}
		for k, w := range m.Nodes[node].Workers {
			e := w.End - 1
			if e < w.First || m.ExecEnd[e] != model.None || !m.Atomic(m.ExecCF[e]) {
				continue
			}
			cf := m.ExecCF[e]
			place := s.placeOf(int(m.SiteOf[cf]))
			x := found{Code: place.Code, Info: trace.InsideInfo{CF: m.CFID(cf).String(), Name: m.CFTitle(cf),
				File: place.File, Line: place.Line, Node: node, Worker: k, NS: m.End - m.ExecStart[e], CPUNS: -1}}
			if info := told[x.Info.CF]; info != nil {
				ns := x.Info.NS
				if x.Info, x.Told = *info, true; m.Info.Ended == "" { // it was told of while the program ran
					x.Info.NS, x.Info.CPUNS = max(ns, info.NS), -1
				}
			}
			if x.Told || x.Info.NS >= worthNaming {
				list = append(list, x)
			}
		}
	}
	return list
}

// StayInside says of a run that goes on which CFs do not come back from user code, if run.json tells of them.
func StayInside(m *model.Model) (list []words.Text) {
	for _, x := range newFinder(m, Options{}, nil).insideHere() {
		if x.Told {
			list = append(list, StaysInside(&x.Info))
		}
	}
	return list
}

// StaysInside says of a run that goes on where a CF is that does not come back from user code.
func StaysInside(x *trace.InsideInfo) words.Text {
	return words.Say("worker %d of node %d has been in %s for %s: %s",
		"рабочий поток %d узла %d исполняет %s уже %s: %s", x.Worker, x.Node, named(x), words.Time(x.NS),
		doing(x, now))
}

// StayedInside says where a CF was that did not come back before its run ended.
func StayedInside(x *trace.InsideInfo) words.Text {
	return words.Say("%s: %s", "%s: %s", stayed(x), doing(x, then))
}

func stayed(x *trace.InsideInfo) words.Text {
	return words.Say("worker %d of node %d had been in %s for %s at the end",
		"рабочий поток %d узла %d в конце исполнял %s уже %s", x.Worker, x.Node, named(x), words.Time(x.NS))
}

func named(x *trace.InsideInfo) string {
	if x.File == "" {
		return x.Name
	}
	return x.Name + " (" + x.File + ":" + strconv.Itoa(x.Line) + ")"
}

const (
	now = iota
	then
)

// does says what a CF is or was doing, by trace.InsideInfo.Doing.
var does = map[string][2]words.Phrase{
	"computes": {{"it computes", "вычисляет"}, {"it computed", "вычислял"}},
	"sleep":    {{"it sleeps", "спит"}, {"it slept", "спал"}},
	"waits":    {{"it waits", "ждёт"}, {"it waited", "ждал"}},
	"lock":     {{"it waits for a lock", "ждёт блокировку"}, {"it waited for a lock", "ждал блокировку"}},
	"own": {{"it waits for a lock that it holds itself", "ждёт блокировку, которую сам держит"},
		{"it waited for a lock that it held itself", "ждал блокировку, которую сам держал"}},
	"held": {{"it waits for a lock that CF %s holds", "ждёт блокировку, которую держит ФВ %s"},
		{"it waited for a lock that CF %s held", "ждал блокировку, которую держал ФВ %s"}},
	"io": {{"it waits for a file", "ждёт файл"}, {"it waited for a file", "ждал файл"}},
	"file": {{"it waits for the file %s", "ждёт файл %s"},
		{"it waited for the file %s", "ждал файл %s"}},
	"pipe":   {{"it waits for a pipe", "ждёт канал"}, {"it waited for a pipe", "ждал канал"}},
	"socket": {{"it waits for a socket", "ждёт сокет"}, {"it waited for a socket", "ждал сокет"}},
	"": {{"what it does is not known", "что он делает, неизвестно"},
		{"what it did is not known", "что он делал, неизвестно"}},
}

// doing says what the CF does, and where in the program's code.
func doing(x *trace.InsideInfo, tense int) words.Text {
	what, args := x.Doing, []any{}
	switch kind, _, _ := strings.Cut(x.What, ":["); {
	case what == "lock" && x.What == x.CF:
		what = "own"
	case what == "lock" && x.What != "":
		what, args = "held", []any{x.What}
	case what == "io" && (kind == "pipe" || kind == "socket"):
		what = kind
	case what == "io" && filepath.IsAbs(x.What):
		what, args = "file", []any{x.What}
	}
	phrases, known := does[what]
	if !known {
		phrases = does["waits"]
	}
	text := phrases[tense].With(args...)
	if x.Doing == "computes" && x.CPUNS >= 0 {
		text = words.Say("%s (%s of processor time)", "%s (процессорного времени %s)", text, words.Time(x.CPUNS))
	}
	calls := x.Stack[:min(len(x.Stack), shownCalls)]
	switch {
	case x.Call != "" && len(calls) > 0:
		return words.Say("%s in %s, called by %s", "%s в %s, вызвана из %s", text, x.Call, chain(calls))
	case len(calls) > 0:
		return words.Say("%s in %s", "%s в %s", text, chain(calls))
	case x.Call != "":
		return words.Say("%s in %s; its callers are not known", "%s в %s; откуда вызвана, неизвестно", text, x.Call)
	}
	return words.Say("%s; its stack cannot be read", "%s; его стек прочитать не удалось", text)
}

// chain is calls, the innermost first.
func chain(calls []trace.InsideCall) (text words.Text) {
	for i, c := range calls {
		place := words.Say("%s", "%s", c.Function)
		if c.File != "" {
			place = words.Say("%s at %s:%d", "%s (%s:%d)", c.Function, c.File, c.Line)
		}
		if i > 0 {
			place = words.Say("%s, called by %s", "%s, вызвана из %s", text, place)
		}
		text = place
	}
	return text
}
