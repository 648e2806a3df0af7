package report

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// notRussian is what may stand in a Russian text: names in backquotes, places in the source, events, the host
// of the test.
var notRussian = regexp.MustCompile("`[^`]*`|\\([^() ]+:[0-9]+\\)|\\w+Events\\.on\\w+|host\\d")

func onlyRussian(t interface{ Errorf(string, ...any) }, texts ...string) {
	for _, s := range texts {
		rest := notRussian.ReplaceAllString(s, "")
		if i := strings.IndexFunc(rest, func(r rune) bool {
			return unicode.Is(unicode.Latin, r)
		}); i >= 0 || s == "" || strings.Contains(s, "%!") || strings.Contains(s, "  ") {
			t.Errorf("not Russian: %s", s)
		}
	}
}

// doubtful is a result that has all there is to warn of.
func doubtful() *slou.Result {
	r := &slou.Result{Killed: true, TotalNS: 3e6, WallNS: 1e6, Unfinished: 2}
	r.Loss.Events, r.Loss.NS = 21, 1e6
	r.Missing = []slou.Missing{{Event: "CFEvents.onStarted", Factors: []string{"U", "S", "L", "O", "W"}},
		{Event: "CFEvents.onReady", Parts: []string{"S.here", "S.elsewhere", "O.deliver", "O.dispatch", "O.steal"}}}
	r.Hosts = []model.Host{{Host: "host1", Cores: 2, Workers: 8}, {Cores: 1, Workers: 3},
		{Host: "host2", Cores: 8, Workers: 8}, {Host: "host3", Cores: 2, Workers: 8}}
	r.Factors.U = &slou.Useful{Share: slou.Share{NS: 2e6}, MeasuredNS: 1.5e6}
	r.Messages = slou.Messages{Count: 41, Violations: 3, Half: 5, Crossing: 61, Repaired: 7, RepairMaxNS: 12_300}
	r.Splits = []slou.Split{{By: "index:3", Groups: []slou.Group{{Key: "1"}, {Rest: true}}},
		{By: "index:4", Groups: []slou.Group{{Rest: true}}}}
	return r
}

func TestWarningsInBothLanguages(t *testing.T) {
	english := []string{
		"The trace has no end: the program was killed or crashed. The last recorded time counts as the end " +
			"of the run.",
		"21 events lost: 1.00 ms of the workers' time (25.0 %) is unknown and in no factor.",
		"CFEvents.onStarted was not recorded, so U, S, L, O, W cannot be computed.",
		"CFEvents.onReady was not recorded, so S.here, S.elsewhere, O.deliver, O.dispatch, O.steal count " +
			"with the " +
			"rest of their factors.",
		"8 workers share 2 cores on each of 2 hosts (host1 and others): they take turns, so some of the useful time may be waiting for " +
			"a core. " +
			"Use at most 2 workers there.",
		"3 workers share 1 core on the host: they take turns, so some of the useful time may be waiting for " +
			"a core. Use at most 1 worker there.",
		"25.0 % of the useful time was not measured by thread clocks and includes pre-emption.",
		"By the nodes' clocks, 3 of 41 messages arrived before they were sent. Their time on the link counts as 0.",
		"By the processes' clocks, 7 of 61 messages between them arrived before they were sent. To repair that, " +
			"clocks were put forward by up to 12.3 µs.",
		"The trace has only one end of 5 messages; their time on the link counts as 0.",
		"2 CFs started and did not finish.",
		"No CF that ran has an index 4 in its label (the first is 0), so the split is empty.",
	}
	russian := []string{
		"У трассы нет конца: программа прервана или завершилась аварийно. Концом запуска считается последнее " +
			"записанное время.",
		"Потеряно 21 событие: о 1,00 мс времени рабочих потоков (25,0 %) ничего не известно, и ни в один фактор " +
			"оно не входит.",
		"События CFEvents.onStarted не записаны, поэтому нельзя вычислить: Полезная работа, Голодание, Задержка " +
			"связи, Накладные расходы, Ожидание.",
		"События CFEvents.onReady не записаны, поэтому от остального в их факторах нельзя отличить: Голодание " +
			"(готовое есть на этом узле), Голодание (готовое есть на других узлах), Накладные расходы (от " +
			"прихода ФД " +
			"до готовности ФВ), Накладные расходы (от готовности ФВ до старта), Накладные расходы (перехват ФВ).",
		"У 8 рабочих потоков на каждом из 2 хостов (host1 и другие) всего 2 ядра: они исполняются по очереди, и " +
			"часть полезного времени может быть ожиданием ядра. Используйте там не больше 2 рабочих потоков.",
		"У 3 рабочих потоков на одном хосте всего 1 ядро: они исполняются по очереди, и часть полезного времени " +
			"может быть ожиданием ядра. Используйте там не больше 1 рабочего потока.",
		"25,0 % полезного времени измерено не часами самих потоков и включает время, на которое процессор " +
			"был отобран.",
		"По часам узлов раньше отправки пришло 3 из 41 сообщения. Время их передачи считается равным 0.",
		"По часам процессов раньше отправки пришло 7 из 61 сообщения между ними. Часы передвинуты вперёд, самое " +
			"большее на 12,3 мкс, чтобы эти сообщения приходили после отправки.",
		"Только отправка или только приход записаны у 5 сообщений; время их передачи считается равным 0.",
		"Начаты, но не закончены 2 ФВ.",
		"Индекса 4 нет в метке ни одного исполненного ФВ (первый — 0), так что делить не по чему.",
	}
	res := doubtful()
	if d := cmp.Diff(english[:len(english)-1], warnings(res, speaker{}, "")); d != "" { // nobody asked for that split
		t.Error(d)
	}
	openMP := strings.Join(warnings(res, speaker{tasks: true}, ""), "\n")
	if !strings.Contains(openMP, "8 threads share 2 cores") || strings.Contains(openMP, "worker") {
		t.Errorf("of an OpenMP program: %s", openMP)
	}
	if d := cmp.Diff(english, warnings(res, speaker{}, "index:4")); d != "" {
		t.Error(d)
	}
	got := (&Everything{SLOU: res, by: "index:4", language: "ru"}).Warnings()
	if d := cmp.Diff(russian, got); d != "" {
		t.Error(d)
	}
	onlyRussian(t, got...)
}

func TestProblemsInRussian(t *testing.T) {
	for want, p := range map[string]trace.Problem{
		"node1.ws: файла узла 1 нет, или он пуст": {Kind: trace.Missing, File: "node1.ws", Node: 1,
			Stream: -1},
		"node9.ws: нет и других файлов": {Kind: trace.Missing, File: "node9.ws", Node: -1,
			Stream: -1},
		"node1.ws: это файл другого запуска, он не учтён": {Kind: trace.Foreign, File: "node1.ws", Node: 1,
			Stream: -1},
		"run.json: это описание другого запуска, оно не учтено": {Kind: trace.Foreign, File: "run.json",
			Node: -1, Stream: -1},
		"node0.ws: файл обрывается, смещение 90": {Kind: trace.Truncated, File: "node0.ws", Offset: 90,
			Stream: -1},
		"node0.ws: файл не закончен, событий в нём нет": {Kind: trace.Unfinished, File: "node0.ws", Stream: -1},
		"node0.ws: данные повреждены или потеряны, смещение 7; потеряно 2 события; в потоке событий 3 нет " +
			"событий " +
			"с начала до 50 нс": {Kind: trace.Damaged, File: "node0.ws", Offset: 7, Stream: 3, Timed: true,
			From: math.MinInt64, To: 50, Events: 2},
		"node0.ws: данные повреждены или потеряны, смещение 7; в потоке событий 3 нет событий с 4 нс до " +
			"конца": {Kind: trace.Damaged, File: "node0.ws", Offset: 7, Stream: 3, Timed: true, From: 4,
			To: math.MaxInt64},
		"node0.ws: поток событий 2 кончается раньше программы: она прервана или завершилась " +
			"аварийно": {Kind: trace.Unfinished, File: "node0.ws", Stream: 2, Timed: true},
		"node0.ws: записано не всё: на диске не было места, или он отказал; потеряно 5 " +
			"событий": {Kind: trace.Unwritten, File: "node0.ws", Stream: -1, Events: 5},
	} {
		if got := Problem(p, "ru"); got != want {
			t.Errorf("%+v:\n%s, want\n%s", p, got, want)
		}
		if got := Problem(p, "en"); got != p.String() {
			t.Error(got)
		}
	}
}

// sentencesAlone compares advice without what it was made of.
var sentencesAlone = cmpopts.IgnoreUnexported(advise.Advice{})

// TestAnyRunInRussian: whatever a trace holds, its advice, warnings and leftovers are in Russian, and nothing
// else changes.
func TestAnyRunInRussian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 3).Draw(t, "harm") {
		case 1:
			r.Kill(t)
		case 2:
			r.Harm(t)
		case 3:
			r.AddWaits(t)
		}
		m := sloutest.Build(t, r.Text())
		all, err := Compute(context.Background(), m, Wanted{Windows: 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		russian := all.In("ru")
		if d := cmp.Diff(all.Advice, russian.In("en").Advice, sentencesAlone); d != "" {
			t.Fatal(d)
		}
		if len(russian.Warnings()) != len(all.Warnings()) || russian.SLOU != all.SLOU {
			t.Fatal("more than the language differs")
		}
		onlyRussian(t, russian.Warnings()...)
		for _, a := range russian.Advice {
			onlyRussian(t, a.Title, a.Text, a.Gain, a.Bound)
		}
		set, err := counters.FromModel(context.Background(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range set.Balance() {
			onlyRussian(t, Leftover(v, "ru"))
			if got := Leftover(v, "en"); got != v.Text {
				t.Fatalf("%q, want %q", got, v.Text)
			}
		}
	})
}

func TestLeftoversInRussian(t *testing.T) {
	for what := range russianLeftovers {
		onlyRussian(t, Leftover(counters.Violation{Node: 1, What: what, Value: 2}, "ru"),
			Leftover(counters.Violation{Node: -1, What: what, Value: -3}, "ru"))
	}
	for want, v := range map[string]counters.Violation{
		"узел 2: созданы, но не исполнены до конца ФВ: 4":         {Node: 2, What: "cfs", Value: 4},
		"узел 0: освобождено больше байт, чем было занято: на 12": {What: "bytes", Value: -12},
		"связь 0->1: отправлены, но не получены сообщения: 1": {Node: -1, Link: "0->1",
			What: "messages", Value: 1},
		"созданы и не уничтожены ФД: 3": {Node: -1, What: "dfs", Value: 3},
	} {
		if got := Leftover(v, "ru"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
