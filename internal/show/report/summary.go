package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

func (a *author) title() string {
	if a.Run != nil && a.Run.Info != nil && a.Run.Info.Program != "" {
		return a.Run.Info.Program
	}
	if a.SLOU != nil && a.SLOU.Program != "" {
		return a.SLOU.Program
	}
	return a.say("A program without a name")
}

// endings say how a run ended.
var endings = map[string]words.Phrase{
	trace.EndedDone:   {"It ran to its end.", "Запуск дошёл до конца."},
	trace.EndedFailed: {"It failed.", "Программа завершилась с ошибкой."},
	trace.EndedStuck: {"It could not finish: CFs were left waiting for DFs that never came.",
		"Программа не смогла завершиться: остались ФВ, не дождавшиеся своих ФД."},
	trace.EndedInterrupted: {"It was interrupted.", "Запуск прерван."},
}

// endedWords say it in the first line, where a run did not come to its end.
var endedWords = map[string]words.Phrase{
	trace.EndedFailed:      {"failed", "ошибка"},
	trace.EndedStuck:       {"stuck", "не завершилась"},
	trace.EndedInterrupted: {"interrupted", "прервана пользователем"},
}

func (a *author) summary() {
	var tiles []tile
	if r := a.Run; r != nil {
		a.header(r)
		wall := tile{a.lang.Duration(r.WallNS), a.say("wall time"), ""}
		if a.interval() != nil {
			wall = tile{a.lang.Duration(a.SLOU.WallNS), a.say("of the run"), ""}
		}
		tiles = append(tiles, wall)
	}
	if r := a.SLOU; r != nil {
		for _, f := range factorsOf(&r.Factors) {
			value := a.say("not recorded")
			if f.Share != nil {
				value = a.lang.Percent(f.NS, r.TotalNS)
			}
			tiles = append(tiles, tile{value, f.Name.In(a.lang), f.Class})
		}
	}
	if c := a.Critical; c != nil && c.Work != nil {
		tiles = append(tiles, tile{words.Decimal(c.Work.Parallelism).In(a.lang), a.say("average parallelism"), ""})
	}
	a.add(block{In: paper, Tiles: tiles})
	if a.onlyRegions() {
		a.para("Region: a function, or an operation of the run-time system. Call path: where it was called from. " +
			"Pattern: a way to lose time.").In = paper
	} else {
		a.para("CF: a task, one execution of a code fragment. DF: a piece of data, assigned once. Node: a " +
			"run-time system with its own memory. Worker: one of its threads.").In = paper
	}
	if r := a.SLOU; r != nil {
		strip := func() string {
			return svg.Strip(a.say("Shares of all processor time: %s", a.sharesInWords(&r.Factors, r.TotalNS)), 26,
				a.factorParts(&r.Factors, r.TotalNS, true))
		}
		a.plot("", strip, a.say("All processor time, %s: workers x wall time, plus the cores that the "+
			"run-time system used beyond them.", words.Time(r.TotalNS)), a.factorLegend(r)...)
	}
	if len(a.Advice) > 0 {
		a.add(block{In: paper, Advice: a.Advice[:min(len(a.Advice), maxAdvice)], Brief: true})
	}
}

// header says what ran, where and for how long, and how it ended.
func (a *author) header(r *Run) {
	where := a.say("%s, %s", counted(int64(r.Nodes), "node"), counted(int64(r.Workers), "worker"))
	if a.SLOU != nil {
		where = a.workersOfNodes()
	}
	if a.onlyRegions() {
		threads := r.Workers
		if a.Pattern != nil {
			threads = len(a.Pattern.Threads)
		}
		where = a.say("%s", counted(int64(threads), "thread"))
	}
	ended := ""
	switch {
	case r.Info == nil || r.Info.Ended == trace.EndedDone:
	case r.Info.Ended != "":
		ended = " (" + a.phrase(endedWords, r.Info.Ended) + ")"
	case r.Killed:
		ended = " (" + a.say("killed") + ")"
	}
	total := ""
	if a.SLOU != nil {
		total = a.say(", %s of processor time", words.Time(a.SLOU.TotalNS))
	}
	wall := r.WallNS
	if a.SLOU != nil {
		wall = a.SLOU.WallNS
	}
	b := a.para("%s%s: %s on %s%s", a.title(), ended, words.Time(wall), where, total)
	b.In, b.Strong = everywhere, a.title()
	if v := a.interval(); v != nil {
		a.partOnly(v)
	}
	if r.Info == nil {
		return
	}
	how := a.phrase(endings, r.Info.Ended)
	switch {
	case how != "":
	case a.interval() != nil && !r.Killed:
		how = a.say("The end of the run is outside this interval.")
	default:
		how = a.say("The trace does not say how it ended: it was killed, crashed, or still runs.")
	}
	if m := strings.TrimSpace(r.Info.Message); m != "" {
		how += " " + m
	}
	if !r.Info.Started.IsZero() {
		how = a.say("Started %s.", r.Info.Started.Format("2006-01-02 15:04:05 MST")) + " " + how
	}
	a.add(block{Text: how})
}

// workersOfNodes is "2 nodes x 1 worker", or how many workers there are on nodes of different size.
func (a *author) workersOfNodes() string {
	nodes := a.SLOU.Nodes
	workers, even := 0, len(nodes) > 0
	for i := range nodes {
		workers += len(nodes[i].Workers)
		even = even && len(nodes[i].Workers) == len(nodes[0].Workers)
	}
	if even {
		return a.say("%s x %s", counted(int64(len(nodes)), "node"), counted(int64(len(nodes[0].Workers)), "worker"))
	}
	return a.say("%s on %s", counted(int64(workers), "worker"), counted(int64(len(nodes)), "node"))
}

// sentence begins with a capital letter, or with the name of an operation as it is, and ends with a full
// stop.
func sentence(s string) string {
	if first, _, _ := strings.Cut(s, " "); strings.Contains(first, "_") {
		return strings.TrimSuffix(s, ".") + "."
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + strings.TrimSuffix(s[n:], ".") + "."
}
