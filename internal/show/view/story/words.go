package story

import (
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// phrase is a sentence, or a part of one.
type phrase = words.Phrase

// Lines about a CF.
var (
	created     = phrase{"was created on node %d", "создан на узле %d"}
	createdBy   = phrase{"was created on node %d by %s", "создан на узле %d, создал его %s"}
	createdAt   = phrase{", as %s in the source", ", в программе: %s"}
	beganToWait = phrase{"began to wait for %s", "начал ждать: %s"}
	becameReady = phrase{"was ready on node %d", "готов на узле %d"}
	left        = phrase{"left node %d for node %d", "отправлен с узла %d на узел %d"}
	stolen      = phrase{"was taken from node %d by node %d, which had nothing to do",
		"взят с узла %d узлом %d, которому нечего было делать"}
	cameAfter = phrase{"came to node %d from node %d after %s", "пришёл на узел %d с узла %d через %s"}
	came      = phrase{"came to node %d from node %d", "пришёл на узел %d с узла %d"}
	held      = phrase{"was stopped by a debugger for %s", "остановлен отладчиком на %s"}
	ran       = phrase{"ran on worker %d of node %d for %s", "исполнялся рабочим потоком %d узла %d: %s"}
	ranNumber = phrase{"ran on worker %d of node %d for %s, execution %d",
		"исполнялся рабочим потоком %d узла %d: %s, исполнение %d"}
	hadProcessor = phrase{", of which it had the processor for %s", ", из них процессор был занят им %s"}
	lostBefore   = phrase{"before that, worker %d of node %d lost %s: %s",
		"перед ним рабочий поток %d узла %d потерял %s: %s"}
	started = phrase{"started on worker %d of node %d and was still running when the trace ended",
		"начат рабочим потоком %d узла %d и к концу трассы не закончен"}
	stoodFor     = phrase{"waited for %s for %s", "ждал %[2]s: %[1]s"}
	makes        = phrase{"made %s", "вычислил %s"}
	makesFor     = phrase{"made %s, used by %s", "вычислил %s, используют: %s"}
	creates      = phrase{"created %s", "создал %s"}
	givenUnknown = phrase{"was given %s; who made it was not recorded",
		"получил %s; кто его вычислил, не записано"}
	madeBy     = phrase{"%s was made by %[3]s on node %[2]d", "%s вычислен на узле %d, вычислил его %s"}
	madeOn     = phrase{"%s was made on node %d", "%s вычислен на узле %d"}
	asked1     = phrase{"node %d asked node %d for %s", "узел %d запросил у узла %d %s"}
	askedThere = phrase{"the request for %s came to node %d after %s",
		"запрос на %s пришёл на узел %d через %s"}
	sent          = phrase{"%s was sent over link %s", "%s отправлен по связи %s"}
	receivedAfter = phrase{"%s came to node %d over link %s after %s",
		"%s пришёл на узел %d по связи %s через %s"}
	received = phrase{"%s came to node %d over link %s", "%s пришёл на узел %d по связи %s"}

	notLookedAt = phrase{"no worker had handled it when the trace ended",
		"к концу трассы ни один рабочий поток его не рассмотрел"}
	neverStarted = phrase{"was ready and had not started when the trace ended",
		"был готов и к концу трассы не начат"}
	onItsWay = phrase{"was in flight to node %d when the trace ended",
		"к концу трассы был в пути на узел %d"}
	waitsNotMade = phrase{"waits for %s, which was not made", "ждёт %s, который не вычислен"}
	waitsMakers  = phrase{"waits for %s, which was not made; others of that name are made by %s",
		"ждёт %s, который не вычислен; другие с этим именем вычисляет: %s"}
	waitsWould = phrase{"waits for %s, which would be made by %s, which waits, too",
		"ждёт %s, его вычислил бы %s, который тоже ждёт"}
	waitsMay = phrase{"waits for %s, which may be made by %s, which waits, too",
		"ждёт %s, его может вычислить %s, который тоже ждёт"}
	waitsComing = phrase{"waits for %s, which was in flight to node %d when the trace ended",
		"ждёт %s, который к концу трассы был в пути на узел %d"}
	waitsGone = phrase{"waits for %s, which was made by %s and destroyed on node %d",
		"ждёт %s, который вычислил %s и который уничтожен на узле %d"}
	waitsMade = phrase{"waits for %s, which was made by %s on node %d and had not arrived when the trace ended",
		"ждёт %s, который вычислил %s на узле %d и который к концу трассы не пришёл"}
	andMoreLines = phrase{"%d more lines are not shown", "и так далее: пропущено строк: %d"}
)

// Lines about a DF.
var (
	dfMadeBy = phrase{"was made by %s on node %d", "вычислен на узле %[2]d, вычислил его %[1]s"}
	dfMade   = phrase{"was made on node %d", "вычислен на узле %d"}
	dfTwice  = phrase{"was made again by %s, after %s: a DF gets only one value",
		"вычислен ещё раз, вычислил %s, а первым %s: ФД получает значение один раз"}
	dfAsked   = phrase{"node %d asked node %d for it, for %s", "узел %d запросил его у узла %d, нужен для %s"}
	dfAskedBy = phrase{"node %d asked node %d for it", "узел %d запросил его у узла %d"}
	dfAskedAt = phrase{"the request came to node %d after %s", "запрос пришёл на узел %d через %s"}
	dfSent    = phrase{"was sent over link %s, %s", "отправлен по связи %s, %s"}
	dfCame    = phrase{"came to node %d over link %s after %s", "пришёл на узел %d по связи %s через %s"}
	dfCameOdd = phrase{"came to node %d over link %s", "пришёл на узел %d по связи %s"}
	dfStored  = phrase{"is held on node %d from here on", "с этого времени хранится на узле %d"}
	dfDropped = phrase{"is dropped on node %d", "больше не хранится на узле %d"}
	dfUsed    = phrase{"%s was given it and started", "%s получил его и начат"}
	dfWaited  = phrase{"%s began to wait for it", "%s начал его ждать"}
	dfExpired = phrase{"was destroyed on node %d: it had been asked for as often as announced",
		"уничтожен на узле %d: запрошен столько раз, сколько объявлено"}
	dfDeleted = phrase{"was deleted by the program on node %d", "удалён программой на узле %d"}
	dfEnded   = phrase{"was held on node %d to the end of the run", "хранился на узле %d до конца запуска"}
)

var (
	and     = phrase{" and ", " и "}
	andMore = phrase{" and %d more", " и ещё %d"}
)

func (w *teller) text(t phrase, args ...any) string { return t.With(args...).In(w.lang) }

// list joins the first few of n names.
func (w *teller) list(n int, name func(i int) string) string {
	var s strings.Builder
	for i := range min(n, namesShown) {
		switch {
		case i > 0 && i == n-1:
			s.WriteString(w.text(and))
		case i > 0:
			s.WriteString(", ")
		}
		s.WriteString(name(i))
	}
	if n > namesShown {
		s.WriteString(w.text(andMore, n-namesShown))
	}
	return s.String()
}

// cfs joins the first few of count CFs.
func (w *teller) cfs(list []model.CF, count int) string {
	return w.list(count, func(i int) string { return w.m.CFString(list[i]) })
}

func (w *teller) duration(ns int64) string { return w.lang.Duration(ns) }
func (w *teller) bytes(n int64) string     { return w.lang.Bytes(n) }

func position(file string, line int) string { return file + ":" + strconv.Itoa(line) }
