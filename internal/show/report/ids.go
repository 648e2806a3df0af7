package report

import (
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Analyses name some things by an id, which JSON has too. English texts show the id, Russian ones its name
// from one of these lists.
var (
	stepNames = map[string]string{
		critical.KindExecute.String():  "исполнение",
		critical.KindControl.String():  "управление",
		critical.KindTransfer.String(): "передача",
		critical.KindOverhead.String(): "система",
		critical.KindWait.String():     "ожидание",
		critical.KindStart.String():    "начало запуска",
		critical.KindTail.String():     "конец запуска",
		critical.KindUnknown.String():  "причина неизвестна",
		critical.KindLost.String():     "нет записей",
	}
	stateNames = map[string]string{
		string(lifecycle.Created):  "создан",
		string(lifecycle.Waiting):  "ждёт",
		string(lifecycle.Ready):    "готов",
		string(lifecycle.Running):  "исполняется",
		string(lifecycle.Moving):   "в пути",
		string(lifecycle.Executed): "исполнен",
	}
	findingNames = map[string]string{"cfs": "незаконченные ФВ", "never_produced": "невычисленные ФД",
		"produced_twice": "дважды вычисленные ФД", "unanswered": "запросы без ответа",
		"late_requests": "опоздавшие запросы", "never_used": "неиспользованные ФД",
		"held_to_end": "ФД, хранимые до конца"}
	balanceNames = map[string]string{"efficiency": "эффективность", "communication": "эффективность обмена",
		"waited": "время ожидания", "weights": "веса", counters.CFsReady: seriesNames[counters.CFsReady],
		counters.BytesHeld: seriesNames[counters.BytesHeld]}
	endNames = map[string]string{trace.EndedDone: "как положено", trace.EndedFailed: "ошибкой",
		trace.EndedStuck: "не смог завершиться", trace.EndedInterrupted: "прерван пользователем"}
	collectiveNames = map[string]string{"other": "другая", "barrier": "барьер", "notify": "вход в барьер",
		"wait": "выход из барьера", "broadcast": "рассылка", "scatter": "раздача", "gather": "сбор",
		"gather-all": "сбор у всех", "exchange": "обмен всех со всеми", "permute": "перестановка",
		"reduce": "редукция", "all-reduce": "редукция для всех", "prefix-reduce": "префиксная редукция",
		"collect": "сбор разных размеров", "alloc": "выделение памяти", "free": "освобождение памяти",
		"start": "начало программы", "finish": "конец программы"}
)

var seriesNames = map[string]string{"cfs": "число ФВ", "cfs_waiting": "ждущие ФВ",
	counters.CFsReady: "готовые ФВ", "cfs_running": "исполняемые ФВ",
	"cfs_moving": "ФВ в пути", "copies_held": "копии ФД",
	counters.BytesHeld: "занятая память", "dfs": "число ФД", "ready_queue": "очередь готовых ФВ",
	"messages_sent": "отправленные сообщения", "bytes_sent": "отправленные байты",
	"cfs_moved": "перемещённые ФВ", "messages_in_flight": "сообщения в пути",
	"bytes_in_flight": "байты в пути", "send_queue": "очередь отправки"}

// named is the name of what has an id.
func (s speaker) named(list map[string]string, id string) string {
	if name := list[id]; name != "" && s.lang == words.Russian {
		return name
	}
	return id
}

// allNamed are the names of several things.
func (s speaker) allNamed(list map[string]string, ids []string) (names []string) {
	for _, id := range ids {
		names = append(names, s.named(list, id))
	}
	return names
}

// stepPart names the factor and part of a step of the critical path, "O.dispatch".
func (s speaker) stepPart(name string) string {
	loss := slou.FactorLoss.Info()
	return s.named(map[string]string{loss.Letter: words.Lowered(loss.Name[words.Russian])}, name)
}
