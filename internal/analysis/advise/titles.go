package advise

import "github.com/whyslow/whyslow/internal/words"

// titles say in a few words what is wrong and what to do, by the name of the advice. docs/advice.md tells
// when each is said.
var titles = map[string]words.Phrase{
	"one-node": {"One node has nearly all the work: spread it",
		"Почти вся работа на одном узле: распределите её"},
	"distribution": {"Some nodes idle while others have ready CFs",
		"Одни узлы простаивают, когда на других есть готовые ФВ"},
	"order": {"CFs that others wait for run late: run them first",
		"ФВ, которых ждут другие, исполняются поздно: исполняйте их раньше"},
	"latency":          {"Workers wait for messages", "Рабочие потоки ждут сообщений"},
	"overhead":         {"The run-time system takes the time", "Время уходит на исполнительную систему"},
	"parallelism":      {"Too few CFs are ready at the same time", "Одновременно готово слишком мало ФВ"},
	"fewer-workers":    {"Fewer workers would be as fast", "Меньше рабочих потоков дали бы ту же скорость"},
	"too-many-nodes":   {"Fewer nodes would be faster", "На меньшем числе узлов было бы быстрее"},
	"too-many-workers": {"There are more workers than cores", "Рабочих потоков больше, чем ядер"},
	"blocked":          {"CFs give up their cores and wait", "ФВ отдают процессор и ждут"},
	"contention": {"Workers wait for a lock or a resource",
		"Рабочие потоки ждут блокировку или общий ресурс"},
	"garbage-collection": {"The garbage collector takes processor time",
		"Процессорное время занимает сборщик мусора"},
	"system-calls": {"Workers are in system calls", "Рабочие потоки заняты системными вызовами"},
	"far-data": {"Data is made far from where it is used",
		"Данные создаются далеко от места использования"},
	"late-transfer": {"Data is sent late: store it where it is used",
		"Данные отправляются поздно: храните их там, где они нужны"},
	"migration": {"CFs are created far from where they run", "ФВ создаются далеко от места исполнения"},
	"preempted": {"Workers lose their processors to other threads",
		"Процессор отбирают у исполняющихся ФВ"},
	"off-core": {"CFs are off their cores: pre-empted or blocked",
		"ФВ остаются без процессора: он отобран, или они ждут"},
	"replicate": {"The same data is sent again: keep a copy on every node",
		"Одни и те же данные передаются снова и снова: храните копию на каждом узле"},
	"too-small": {"CFs are too small for their overhead",
		"ФВ слишком мелкие по сравнению с накладными расходами"},
	"too-small-to-send": {"CFs are too small to pay for sending their data",
		"ФВ слишком мелкие, чтобы передавать для них данные"},
	"asked-again": {"A node requests the same data again", "Один узел снова запрашивает те же данные"},
	"too-large": {"Messages are large and nothing overlaps them",
		"Сообщения велики, и во время передачи нечего делать"},
	"extra-cores": {"Threads other than the workers use processor time",
		"Время потрачено помимо рабочих потоков"},
	"locators-disagree": {"Locators of data and CFs disagree", "Локаторы данных и ФВ не согласованы"},
	"never-freed":       {"Data is kept longer than needed", "Данные хранятся дольше, чем нужны"},

	"serial-code": {"One thread works outside of parallel regions, the others wait",
		"Вне параллельных областей работает один поток, остальные ждут"},
	"uneven-loop": {"Threads wait at barriers for the slowest one", "Потоки ждут у барьеров самого медленного"},
	"one-creator": {"Threads wait for tasks to be created", "Потоки ждут создания задач"},
	"taskwait": {"All wait for all tasks before the next ones are created",
		"Следующие задачи создаются, когда завершены все предыдущие"},
	"wide-depend": {"Many tasks depend on one variable in turn",
		"Много задач по очереди зависят от одной переменной"},
	"nested-regions": {"Parallel regions begin inside of others",
		"Параллельные области начинаются внутри других"},

	"start-up": {"Start-up and shutdown take much of the run",
		"Большую часть времени занимают начало и завершение"},
	"late-thread": {"One thread comes last: give it less work",
		"Один поток приходит последним: дайте ему меньше работы"},
	"late-leaving": {"Threads leave collectives late: they have no core",
		"Потоки поздно выходят из коллективных операций: им не хватает ядер"},
	"uneven-steps": {"Threads take turns waiting for each other", "Потоки по очереди ждут друг друга"},
	"relax-entry": {"Collectives wait for all threads needlessly",
		"Коллективные операции без нужды ждут всех"},
	"proven-entry": {"Collectives repeat the wait of a barrier",
		"Коллективные операции ждут того, что уже обеспечил барьер"},
	"relax-exit": {"Collectives wait at their end, then at a barrier",
		"Коллективные операции ждут в конце, а за ними следует барьер"},
	"double-barrier":  {"A barrier directly follows another one", "Барьер следует сразу за барьером"},
	"alloc-in-loop":   {"Shared memory is allocated in a loop", "Общая память выделяется снова и снова"},
	"lock-contention": {"Threads wait for a lock that another one holds", "Потоки ждут занятой блокировки"},
	"overlap": {"Transfers wait for each other: begin them together",
		"Передачи ждут друг друга: начинайте их вместе"},
	"hide-transfers": {"Threads sit idle during transfers", "Потоки простаивают во время передач"},
	"await":          {"Threads wait for a value from another one", "Потоки ждут значения от другого потока"},
	"completion":     {"Threads wait for their own transfers", "Потоки ждут завершения своих передач"},
	"late-sender": {"Messages are sent late: the receivers wait",
		"Сообщения отправляются поздно: получатели ждут"},
	"late-receiver": {"Messages are received late: the senders wait",
		"Сообщения принимаются поздно: отправители ждут"},
	"wrong-order": {"Messages are received in a different order than sent",
		"Сообщения принимаются не в том порядке, в каком отправлены"},
	"serial-chain": {"Threads wait in a chain, each for the next", "Потоки ждут по цепочке, один другого"},
	"join-messages": {"Many small messages go to the same receiver: combine them",
		"Много мелких сообщений одному получателю: объединяйте их"},
	"hide-messages": {"Threads sit idle while messages are in flight",
		"Потоки простаивают, пока сообщения в пути"},
	"hide-collectives": {"Threads compute right after collectives: overlap the two",
		"Потоки вычисляют сразу после коллективных операций: совместите одно с другим"},
}

// setGain says what following advice would give, and what part of the run's time that is, or else of the
// processors'; 1 where the program cannot end.
func (a *advisor) setGain(x *Advice) {
	processors := a.share(x.GainNS)
	run := words.Share{Part: x.GainWallNS, Whole: a.res.WallNS}
	x.Share = part(processors)
	switch {
	case x.Blocking:
		x.gain, x.Share = words.Say("the program can end", "программа сможет завершиться"), 1
	case x.GainBytes > 0:
		x.gain = words.Say("up to %s less memory at the peak", "до %s памяти в пике", words.Size(x.GainBytes))
	case x.GainNS == 0:
		x.gain = words.Say("no time to save", "сокращать нечего")
	case x.GainWallNS > 0:
		x.gain = words.Say("up to %s of %s wall time, %s", "до %s из %s времени запуска, %s",
			words.Time(x.GainWallNS), words.Time(a.res.WallNS), run)
		x.Share = part(run)
	default:
		x.gain = words.Say("up to %s of processor time, %s", "до %s процессорного времени, %s",
			words.Time(x.GainNS), processors)
	}
}

// part is a share as a number from 0 to 1.
func part(s words.Share) float64 { return min(float64(s.Part)/float64(max(s.Whole, 1)), 1) }

// finished is the list, largest gain first, with its sentences in English.
func (a *advisor) finished() []Advice {
	for i := range a.list {
		a.setGain(&a.list[i])
		if x := &a.list[i]; a.ofRanks() {
			x.text, x.bound, x.ranks = x.text.OfRanks(), x.bound.OfRanks(), true
		}
		if x := &a.list[i]; a.openMP() {
			x.text, x.bound, x.tasks = x.text.OfTasks(), x.bound.OfTasks(), true
		}
	}
	a.sort()
	for i, x := range a.list {
		a.list[i] = x.In(words.English)
	}
	return a.list
}

// In gives the advice with its sentences in a language.
func (x Advice) In(l words.Lang) Advice {
	title := titles[x.ID]
	if x.ranks {
		title = title.OfRanks()
	}
	if x.tasks {
		title = title.OfTasks()
	}
	x.Title, x.Text, x.Gain, x.Bound = title[l], x.text.In(l), x.gain.In(l), x.bound.In(l)
	x.Predicted = x.predicted.In(l)
	return x
}

// Waits say which pieces of workers' time advice counts: those that fit everything that is given.
type Waits struct {
	Factors  []string `json:"factors,omitempty"` // letters
	Parts    []string `json:"parts,omitempty"`
	Producer string   `json:"producer,omitempty"` // code fragments
	Consumer string   `json:"consumer,omitempty"`
	DF       string   `json:"df,omitempty"` // name
	Link     string   `json:"link,omitempty"`
	ButNode  *int     `json:"but_node,omitempty"` // workers of all other nodes
}

// waits are those of advice by its name, from what it rests on.
var waits = map[string]func(e evidence) Waits{
	"one-node": func(e evidence) Waits {
		node, _ := e["node"].(int)
		return Waits{Factors: []string{"S"}, ButNode: &node}
	},
	"distribution": parts("elsewhere"),
	"order": func(e evidence) Waits {
		return Waits{Factors: []string{"S"}, Producer: e.text("producer")}
	},
	"parallelism":        parts("nowhere"),
	"fewer-workers":      factors("S"),
	"serial-code":        parts("nowhere"),
	"uneven-loop":        func(evidence) Waits { return Waits{Factors: []string{"S"}, DF: barrier} },
	"too-many-nodes":     factors("L"),
	"too-many-workers":   parts("dispatch", "preempt"),
	"preempted":          parts("preempt"),
	"off-core":           parts("preempt", "blocked"),
	"too-small":          factors("O"),
	"overhead":           factors("O"),
	"blocked":            func(e evidence) Waits { return Waits{Parts: []string{e.text("part")}} },
	"contention":         partOfName,
	"garbage-collection": partOfName,
	"system-calls":       partOfName,
	"latency":            onLink,
	"migration":          onLink,
	"far-data":           ofDF,
	"late-transfer":      ofDF,
	"replicate":          ofDF,
	"too-small-to-send":  ofDF,
	"asked-again":        ofDF,
	"too-large":          ofDF,
}

// evidence is Advice.Evidence.
type evidence map[string]any

func (e evidence) text(name string) string {
	text, _ := e[name].(string)
	return text
}

func parts(list ...string) func(evidence) Waits {
	return func(evidence) Waits { return Waits{Parts: list} }
}

func factors(list ...string) func(evidence) Waits {
	return func(evidence) Waits { return Waits{Factors: list} }
}

func partOfName(e evidence) Waits { return Waits{Parts: []string{e.text("name")}} }

func onLink(e evidence) Waits {
	return Waits{Factors: []string{"L"}, Link: e.text("link"), DF: e.text("df"), Consumer: e.text("consumer")}
}

// ofDF are the waits for DFs of one name, or for all if the advice is about several.
func ofDF(e evidence) Waits {
	if names, _ := e["names"].(int); names > 1 {
		return Waits{Factors: []string{"L"}}
	}
	return Waits{Factors: []string{"L"}, DF: e.text("df")}
}

// Waits are those that the advice counts, nil where it counts none.
func (x *Advice) Waits() *Waits {
	of := waits[x.ID]
	if of == nil {
		return nil
	}
	w := of(x.Evidence)
	return &w
}
