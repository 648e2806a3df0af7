package words

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Factor is how a factor is shown: by reports, the page (web/src/lib/words.gen.ts), comparisons and exports.
// What it is computed from stands in package slou, which has a constant for each of the table's rows.
type Factor struct {
	Letter string // its name in JSON, tables and CSV
	Class  string // of style sheets: its colour
	// Light and Dark are its colours on light and dark pages: after Okabe and Ito. Any two differ by at
	// least 20 (CIE 1976) for people who lack one kind of cone, too: a test of the page works it out. ANSI is
	// its colour on terminals.
	Light string
	Dark  string
	ANSI  string
	Name  Phrase
	Doc   Phrase // what the time went to
	// Named: its parts have the names of links, or of what was waited for.
	Named bool
	// CutOut: it is cut out of a worker's time before the rule divides the rest.
	CutOut bool
}

// AllFactors are the factors in the order of every table, then what is in no factor: lost time, and time of
// factors that cannot be computed.
var AllFactors = []Factor{
	{Letter: "U", Class: "u", Light: "#009e73", Dark: "#23c46e", ANSI: "32",
		Name: Phrase{"Useful work", "Полезная работа"},
		Doc:  Phrase{"Running CFs", "Выполнение ФВ"}},
	{Letter: "S", Class: "s", Light: "#d55e00", Dark: "#dd7e13", ANSI: "31",
		Name: Phrase{"Starvation", "Голодание"},
		Doc: Phrase{"No CF was ready to run: not enough work for the workers at this time",
			"Нет ни одного готового ФВ: в это время рабочим потокам не хватает работы"}},
	{Letter: "L", Class: "l", Light: "#0061be", Dark: "#3c95ff", ANSI: "33", Named: true,
		Name: Phrase{"Latency", "Задержка связи"},
		Doc: Phrase{"A CF was ready but for data still in flight from another node",
			"ФВ был бы готов, но данные ещё идут с другого узла"}},
	{Letter: "O", Class: "o", Light: "#c278b1", Dark: "#d48fb6", ANSI: "35",
		Name: Phrase{"Overhead", "Накладные расходы"},
		Doc: Phrase{"The system's own work: dispatching, creating CFs, managing data",
			"Работа самой системы: диспетчеризация, создание ФВ, управление данными"}},
	{Letter: "W", Class: "w", Light: "#e6b800", Dark: "#f8d452", ANSI: "36", Named: true, CutOut: true,
		Name: Phrase{"Waiting", "Ожидание"},
		Doc: Phrase{"Waiting for something outside: a lock, a device, the processor",
			"Ожидание внешнего: блокировки, устройства, процессора"}},
	{Letter: "loss", Class: "x", Light: "#3b3f47", Dark: "#4b4f57", ANSI: "2", CutOut: true,
		Name: Phrase{"Not recorded", "Не записано"},
		Doc: Phrase{"Events of this time were lost or not recorded",
			"События этого времени потеряны или не записаны"}},
	{Letter: "undivided", Class: "x", Light: "#3b3f47", Dark: "#4b4f57", ANSI: "2",
		Name: Phrase{"Not known", "Не известно"},
		Doc: Phrase{"Events needed to tell what this time went to were not recorded, or have not arrived yet",
			"События, по которым видно, на что ушло это время, не записаны или ещё не пришли"}},
}

// GainsOverlap stands beside a list of advice.
var GainsOverlap = Phrase{"Gains overlap: do not add them up.", "Выигрыши пересекаются: не складывайте их."}

// Colours are the factors whose colours style sheets need: one for each class.
var Colours = AllFactors[:len(AllFactors)-1]

// Factors are the factors alone.
var Factors = AllFactors[:len(AllFactors)-2]

// FactorOf finds a factor, or what stands beside them, by its letter; nil where there is none.
func FactorOf(letter string) *Factor {
	for i := range AllFactors {
		if AllFactors[i].Letter == letter {
			return &AllFactors[i]
		}
	}
	return nil
}

// FactorName names a factor by its letter; what is none, such as "loss", stands for itself.
func FactorName(letter string) Phrase {
	for _, f := range Factors {
		if f.Letter == letter {
			return f.Name
		}
	}
	return Phrase{letter, letter}
}

// Part is how a part of a factor is shown.
type Part struct {
	Factor string // its letter
	Name   string // in JSON, tables and CSV
	Means  Phrase
	Ready  bool // the events onReady tell it from other parts
	// Before says when a CF was held up in it; Spent, what the system's time went to. Parts of the system's
	// work have both; an empty Spent is Means.
	Before, Spent Phrase
	// Doing says in what state a CF was that others waited for; Activity names that in JSON, "" as Name does.
	// Without Doing the CF counts as running.
	Doing    Phrase
	Activity string
	// Inside: it is time of CFs that had started, taken by other threads, and no work of the system.
	Inside bool
	// Rare: it is not listed where it is 0.
	Rare bool
	// Step names the step of communication efficiency that the part is, in English as in JSON, and Left says
	// what that efficiency is. Other parts of a factor are one step together.
	Step, Left Phrase
}

// ActivityName is Activity, or Name.
func (p *Part) ActivityName() string { return cmp.Or(p.Activity, p.Name) }

// AllParts are the parts with names of their own, factor by factor, in the order of every table. Other parts
// are named by links and locks: they speak for themselves.
var AllParts = []Part{
	{Factor: "S", Name: "nowhere", Means: Phrase{"nothing ready anywhere", "готового нет нигде"},
		Step: Phrase{"serialisation", "последовательность"},
		Left: Phrase{"what remains after times without any ready CF (S.nowhere)",
			"что осталось от времени, когда не было готовых ФВ (S.nowhere)"}},
	{Factor: "S", Name: "here", Means: Phrase{"ready on this node", "готовое есть на этом узле"}, Ready: true},
	{Factor: "S", Name: "elsewhere", Means: Phrase{"ready on other nodes", "готовое есть на других узлах"},
		Ready: true},
	{Factor: "O", Name: "create", Means: Phrase{"creating CFs", "создание ФВ"},
		Before: Phrase{"before it was created", "до его создания"},
		Spent:  Phrase{"creating CFs", "на создание ФВ"},
		Doing:  Phrase{"was not created yet", "ещё не был создан"}},
	{Factor: "O", Name: "request", Means: Phrase{"before DFs are requested", "до запроса ФД"},
		Before: Phrase{"before its input was requested", "до запроса его входного ФД"},
		Doing:  Phrase{"had not requested its input yet", "ещё не запросил вход"}},
	{Factor: "O", Name: "send", Means: Phrase{"before DFs are sent", "до отправки ФД"},
		Before: Phrase{"before it or its input was sent", "до отправки его или его входного ФД"},
		Doing:  Phrase{"was not sent yet, or an input of it", "ещё не был отправлен, или его вход"}},
	{Factor: "O", Name: "deliver", Means: Phrase{"from arrival to ready", "от прихода ФД до готовности ФВ"},
		Ready: true, Before: Phrase{"until it was ready", "до его готовности"},
		Doing: Phrase{"had its input, but was not ready yet", "получил вход, но ещё не был готов"}},
	{Factor: "O", Name: "dispatch", Means: Phrase{"from ready to start", "от готовности ФВ до старта"},
		Ready: true, Before: Phrase{"from ready to start", "от готовности до старта"},
		Doing: Phrase{"was ready, but its idle worker had not started it yet",
			"был готов, но свободный поток его ещё не начал"}},
	{Factor: "O", Name: "preempt", Means: Phrase{"pre-empted", "процессор отобран"}, Inside: true,
		Activity: "preempted", Doing: Phrase{"was pre-empted", "был вытеснен"},
		Step: Phrase{"preemption", "вытеснение"},
		Left: Phrase{"what remains after pre-emption (O.preempt)", "что оставило вытеснение (O.preempt)"}},
	{Factor: "O", Name: "steal", Means: Phrase{"stealing CFs", "перехват ФВ"}, Ready: true,
		Before: Phrase{"before it was stolen", "до его перехвата"},
		Spent:  Phrase{"stealing CFs", "на перехват ФВ"},
		Doing:  Phrase{"was ready and about to be stolen", "был готов и вот-вот будет перехвачен"}},
	{Factor: "O", Name: "extra", Means: Phrase{"cores beyond the workers", "ядра сверх рабочих потоков"}},
	{Factor: "W", Name: "lock", Means: Phrase{Russian: "блокировка"}, Rare: true},
	{Factor: "W", Name: "io", Means: Phrase{"files and sockets", "файлы и сокеты"}, Rare: true},
	{Factor: "W", Name: "sleep", Means: Phrase{"sleeping", "сон"}, Rare: true},
	{Factor: "W", Name: "page-fault", Means: Phrase{"pages read from disk", "страницы, читаемые с диска"},
		Rare: true},
	{Factor: "W", Name: "blocked", Means: Phrase{"blocked, reason unknown", "ожидание по неизвестной причине"},
		Rare: true},
	// In a run of regions.
	{Factor: "O", Name: "runtime", Means: Phrase{"the run-time system", "исполнительная система"}},
	{Factor: "S", Name: "start", Means: Phrase{"before the thread began", "до начала потока"}},
	{Factor: "S", Name: "end", Means: Phrase{"after the thread ended", "после его конца"}},
	// Of W, what else was waited for has a name.
	{Factor: "W", Name: "held", Means: Phrase{"stopped by a debugger", "остановлен отладчиком"}},
	{Factor: "W", Name: "debug", Means: Phrase{"the program was stopped by a debugger",
		"программа остановлена отладчиком"}},
}

// PartOf finds a part by its name; an empty one where there is none.
func PartOf(name string) (part Part) {
	for _, p := range AllParts {
		if p.Name == name {
			part = p
		}
	}
	if part.Before != (Phrase{}) && part.Spent == (Phrase{}) {
		part.Spent = part.Means
	}
	return part
}

// Meaning says what a part of a factor means; nothing where the name says all, as that of a link does, or
// the English name of a pattern of waiting.
func Meaning(factor, part string) Phrase {
	for _, p := range AllParts {
		if p.Factor == factor && p.Name == part {
			return p.Means
		}
	}
	if f := FactorOf(factor); f == nil || !f.Named {
		return Phrase{}
	}
	return Phrase{Russian: Lowered(Metrics[part].Name[Russian])}
}

// Waited names what was waited for: parts of W and patterns of waiting have Russian names, everything else
// its own. A part may be followed by what it was, as in "lock: counter_mutex (step.cpp:12)".
func Waited(name string) Phrase {
	part, what, more := strings.Cut(name, ": ")
	for _, p := range AllParts {
		if p.Factor == "W" && p.Name == part && p.Rare {
			if more {
				what = ": " + what
			}
			return Phrase{part + what, p.Means[Russian] + what}
		}
	}
	return Phrase{name, cmp.Or(Lowered(Metrics[name].Name[Russian]), name)}
}

// Lowered is a title as it stands within a sentence.
func Lowered(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[n:]); s == "" || unicode.IsUpper(next) {
		return s // an abbreviation
	}
	return string(unicode.ToLower(first)) + s[n:]
}

// Parts say what parts of factors mean, by their names.
var Parts = func() map[string]Phrase {
	m := map[string]Phrase{}
	for _, p := range AllParts {
		m[p.Name] = p.Means
	}
	return m
}()
