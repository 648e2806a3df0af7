package lifecycle_test

import (
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// TestInsideText says where CFs are that do not come back, in both languages.
func TestInsideText(t *testing.T) {
	const at, was = "worker 1 of node 0 has been in step[3] (prog.fa:17) for 12.0 s: ",
		"рабочий поток 1 узла 0 в конце исполнял step[3] (prog.fa:17) уже 12,0 с: "
	step := []trace.InsideCall{{Function: "solve", File: "step.cpp", Line: 42}, {Function: "step"}}
	for _, c := range []struct {
		x       trace.InsideInfo
		en, rus string
	}{
		{trace.InsideInfo{Doing: "sleep", Call: "nanosleep", Stack: step},
			"it sleeps in nanosleep, called by solve at step.cpp:42, called by step",
			"спал в nanosleep, вызвана из solve (step.cpp:42), вызвана из step"},
		{trace.InsideInfo{Doing: "computes", CPUNS: 11_000_000_000, Stack: step[:1]},
			"it computes (11.0 s of processor time) in solve at step.cpp:42",
			"вычислял (процессорного времени 11,0 с) в solve (step.cpp:42)"},
		{trace.InsideInfo{Doing: "computes", CPUNS: -1, Call: "memcpy"},
			"it computes in memcpy; its callers are not known", "вычислял в memcpy; откуда вызвана, неизвестно"},
		{trace.InsideInfo{Doing: "lock", What: "0.7"},
			"it waits for a lock that it holds itself; its stack cannot be read", "ждал блокировку, которую сам держал; его стек прочитать не удалось"},
		{trace.InsideInfo{Doing: "lock", What: "0.8", Stack: step[:1]},
			"it waits for a lock that CF 0.8 holds in solve at step.cpp:42",
			"ждал блокировку, которую держал ФВ 0.8 в solve (step.cpp:42)"},
		{trace.InsideInfo{Doing: "io", What: "pipe:[471]", Stack: step[:1]},
			"it waits for a pipe in solve at step.cpp:42", "ждал канал в solve (step.cpp:42)"},
		{trace.InsideInfo{Doing: "io", What: "/data/x", Stack: step[:1]},
			"it waits for the file /data/x in solve at step.cpp:42", "ждал файл /data/x в solve (step.cpp:42)"},
		{trace.InsideInfo{Doing: "something new", Stack: step[:1]}, "it waits in solve at step.cpp:42",
			"ждал в solve (step.cpp:42)"},
		{trace.InsideInfo{}, "what it does is not known; its stack cannot be read",
			"что он делал, неизвестно; его стек прочитать не удалось"},
	} {
		c.x.CF, c.x.Name, c.x.File, c.x.Line = "0.7", "step[3]", "prog.fa", 17
		c.x.Worker, c.x.NS = 1, 12_000_000_000
		if got := lifecycle.StaysInside(&c.x).In(words.English); got != at+c.en {
			t.Errorf("%s", got)
		}
		if got := lifecycle.StayedInside(&c.x).In(words.Russian); got != was+c.rus {
			t.Errorf("%s", got)
		}
	}
}
