package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// What makes the numbers of a run less certain than they look, in English and Russian: warnings of the
// factors, faults of the trace, what does not add up at its end.

// Warnings are sentences about what makes the numbers less certain than they look, in the language of the
// advice; none if the factors could not be computed.
func (a *Everything) Warnings() []string {
	if a.SLOU == nil {
		return nil
	}
	s := a.speaker()
	lang := s.lang
	list := warnings(a.SLOU, s, a.by)
	if a.model != nil && a.model.NoInfo {
		list = append([]string{s.in(noInfo(a.model))}, list...)
	}
	if a.model != nil {
		if format, ok := words.Imported[a.model.Info.Settings[model.Imported]]; ok {
			list = append(notRead(a.model, lang), list...)
			list = append([]string{imported(format).In(lang)}, list...)
		}
	}
	if a.model != nil && len(a.model.Stopped) > 0 {
		list = append(list, words.Say("A debugger stopped the program, so its times are not those of an ordinary"+
			" run, and there is no advice about them.", "Отладчик останавливал программу: её времена не те, что без "+
			"него, поэтому советов о них нет.").In(lang))
	}
	if a.model != nil {
		for _, change := range strings.FieldsFunc(a.model.Info.Settings[model.ChangedSetting],
			func(r rune) bool { return r == '\n' }) {
			list = append(list, words.Say("A value was changed by hand: %s.", "Значение изменено вручную: %s.",
				change).In(lang))
		}
	}
	if a.Lifecycle == nil || a.Lifecycle.CFs == nil {
		return list
	}
	for i := range a.Lifecycle.CFs.Inside {
		list = append(list, sentence(a.Lifecycle.CFs.Inside[i].Text.In(lang)))
	}
	return list
}

// StayInside says of a run that goes on which CFs do not come back from user code, in a language by its name.
func StayInside(m *model.Model, lang string) (list []string) {
	for _, text := range lifecycle.StayInside(m) {
		list = append(list, sentence(text.In(words.LangOf(lang))))
	}
	return list
}

// imported says where a trace comes from that another program recorded, and what that does not tell.
func imported(format words.ImportedFormat) words.Text {
	return words.Say("Imported: %s. It does not tell %s.", "Трасса другой программы: %s. В ней нет: %s.",
		format.About.With(), format.NotTold.With())
}

// notRead says what of another program's trace was left out, and how many of each.
func notRead(m *model.Model, lang words.Lang) []string {
	var parts []string
	for _, left := range m.NotRead() {
		what := left.What
		if p, ok := words.NotRead[what]; ok {
			what = p.In(lang)
		}
		parts = append(parts, fmt.Sprintf("%s: %d", what, left.N))
	}
	if parts == nil {
		return nil
	}
	return []string{words.Say("Not read: %s.", "Не прочитано: %s.", strings.Join(parts, "; ")).In(lang)}
}

// noInfo says that there is no run.json, and what is assumed instead.
func noInfo(m *model.Model) words.Text {
	return words.Say("run.json is missing. Workers are counted from what the streams recorded: %d in all.",
		"Файла run.json нет. Какие потоки событий — рабочие, определено по тому, что в них записано: рабочих "+
			"всего %d.", m.Workers())
}

// warnings are those about a result, of whose splits the user asked for by.
func warnings(res *slou.Result, s speaker, by string) (out []string) {
	warn := func(english, russian string, args ...any) {
		out = append(out, s.in(words.Say(english, russian, args...)))
	}
	if res.Killed {
		warn("The trace has no end: the program was killed or crashed. The last recorded time counts as the end "+
			"of the run.",
			"У трассы нет конца: программа прервана или завершилась аварийно. Концом запуска считается последнее "+
				"записанное время.")
	}
	if res.Loss.Events > 0 || res.Loss.NS > 0 {
		what := words.Say("an unknown number of events", "неизвестное число событий")
		if res.Loss.Events > 0 {
			what = words.Say("%s", "%s", words.Number{N: int64(res.Loss.Events), What: words.Events})
		}
		warn("%s lost: %s of the workers' time (%s) is unknown and in no factor.",
			"Потеряно %s: о %s времени рабочих потоков (%s) ничего не известно, и ни в один фактор оно не входит.",
			what, words.Time(res.Loss.NS), words.Share{Part: res.Loss.NS, Whole: res.Loss.NS + res.TotalNS})
	}
	for _, m := range res.Missing {
		if len(m.Factors) > 0 {
			warn("%s was not recorded, so %s cannot be computed.",
				"События %s не записаны, поэтому нельзя вычислить: %s.", m.Event, factorList(m.Factors))
		} else {
			warn("%s was not recorded, so %s count with the rest of their factors.",
				"События %s не записаны, поэтому от остального в их факторах нельзя отличить: %s.", m.Event,
				factorList(m.Parts))
		}
	}
	crowded := overcommitted(res.Hosts)
	for _, h := range crowded {
		name := words.Say("%s", "хосте %s", h.Host.Host)
		switch {
		case h.hosts > 1:
			name = words.Say("each of %d hosts (%s and others)", "каждом из %d хостов (%s и другие)", h.hosts,
				h.Host.Host)
		case h.Host.Host == "":
			name = words.Say("the host", "одном хосте")
		}
		warn("%s share %s on %s: they take turns, so some of the useful time may be waiting for a core. Use at "+
			"most %s there.",
			"У %[1]s на %[3]s всего %[2]s: они исполняются по очереди, и часть полезного времени может быть "+
				"ожиданием ядра. Используйте там не больше %[4]s.",
			words.Number{N: int64(h.Workers), What: words.OfWorkers},
			words.Number{N: int64(h.Cores), What: words.Cores}, name,
			words.Number{N: int64(h.Cores), What: words.OfWorkers})
	}
	if u := res.Factors.U; len(crowded) > 0 && u != nil && u.MeasuredNS < u.NS {
		warn("%s of the useful time was not measured by thread clocks and includes pre-emption.",
			"%s полезного времени измерено не часами самих потоков и включает время, на которое процессор был "+
				"отобран.", words.Share{Part: u.NS - u.MeasuredNS, Whole: u.NS})
	}
	if res.OneOff && res.Factors.InsideNS() > 0 {
		warn("This machine's kernel does not report how long threads wait for a core. O.preempt is also the time "+
			"for which CFs were blocked for unknown reasons, W.blocked.",
			"Ядро этой машины не сообщает, сколько потоки ждут процессор. В O.preempt входит и время, когда ФВ были "+
				"заблокированы по неизвестной причине, W.blocked.")
	}
	if g := res.Messages; g.Violations > 0 {
		warn("By the nodes' clocks, %d of %s arrived before they were sent. Their time on the link counts as 0.",
			"По часам узлов раньше отправки пришло %d из %s. Время их передачи считается равным 0.",
			g.Violations, words.Number{N: g.Count, What: words.OfMessages})
	}
	if g := res.Messages; g.Repaired > 0 {
		warn("By the processes' clocks, %d of %s between them arrived before they were sent. To repair that, "+
			"clocks were put forward by up to %s.",
			"По часам процессов раньше отправки пришло %d из %s между ними. Часы передвинуты вперёд, самое большее "+
				"на %s, чтобы эти сообщения приходили после отправки.",
			g.Repaired, words.Number{N: g.Crossing, What: words.OfMessages}, words.Time(g.RepairMaxNS))
	}
	if res.Messages.Half > 0 {
		warn("The trace has only one end of %s; their time on the link counts as 0.",
			"Только отправка или только приход записаны у %s; время их передачи считается равным 0.",
			words.Number{N: res.Messages.Half, What: words.OfMessages})
	}
	if res.Unfinished > 0 {
		warn("%s started and did not finish.", "Начаты, но не закончены %s.",
			words.Number{N: int64(res.Unfinished), What: words.CFs})
	}
	for _, s := range res.Splits {
		if index, ok := strings.CutPrefix(s.By, "index:"); ok && s.By == by && !slices.ContainsFunc(s.Groups,
			func(g slou.Group) bool { return !g.Rest }) {
			warn("No CF that ran has an index %s in its label (the first is 0), so the split is empty.",
				"Индекса %s нет в метке ни одного исполненного ФВ (первый — 0), так что делить не по чему.", index)
		}
	}
	return out
}

// factorList are factors, "S", or parts of them, "S.here": in English as they are, in Russian in words.
type factorList []string

// In joins them.
func (f factorList) In(lang words.Lang) string {
	if lang == words.English {
		return strings.Join(f, ", ")
	}
	names := make([]string, len(f))
	for i, s := range f {
		factor, part, _ := strings.Cut(s, ".")
		names[i] = speaker{lang: lang}.factor(factor)
		if part != "" {
			names[i] += speaker{lang: lang}.inWords(factor, part, " (", ")")
		}
	}
	return strings.Join(names, ", ")
}

// Problem says what is wrong with a trace, in "en" or "ru". Details that only the developers of the format
// need are in English alone.
func Problem(p trace.Problem, lang string) string {
	if words.LangOf(lang) == words.English {
		return p.String()
	}
	s := p.File + ": "
	say := func(russian string, args ...any) { s += words.Say("", russian, args...).In(words.Russian) }
	switch {
	case p.Kind == trace.Missing && p.Node >= 0:
		say("файла узла %d нет, или он пуст", p.Node)
	case p.Kind == trace.Missing:
		say("нет и других файлов")
	case p.Kind == trace.Unwritten:
		say("записано не всё: на диске не было места, или он отказал")
	case p.Kind == trace.Foreign && p.Node >= 0:
		say("это файл другого запуска, он не учтён")
	case p.Kind == trace.Foreign:
		say("это описание другого запуска, оно не учтено")
	case p.Kind == trace.Truncated:
		say("файл обрывается, смещение %d", p.Offset)
	case p.Kind == trace.Unfinished && p.Node < 0:
		say("не сказано, чем кончился запуск: программа прервана или ещё работает")
	case p.Kind == trace.Unfinished && p.Stream >= 0:
		say("поток событий %d кончается раньше программы: она прервана или завершилась аварийно", p.Stream)
	case p.Kind == trace.Unfinished:
		say("файл не закончен, событий в нём нет")
	default:
		say("данные повреждены или потеряны, смещение %d", p.Offset)
	}
	if p.Events > 0 {
		say("; потеряно %s", words.Number{N: int64(p.Events), What: words.Events})
	}
	if p.Timed && p.Kind != trace.Unfinished {
		from, to := words.Say("", " с %d нс", p.From), words.Say("", " до %d нс", p.To)
		if p.From == math.MinInt64 {
			from = words.Say("", " с начала")
		}
		if p.To == math.MaxInt64 {
			to = words.Say("", " до конца")
		}
		say("; в потоке событий %d нет событий%s%s", p.Stream, from, to)
	}
	return s
}

// russianLeftovers say what is left of a property at the end, more than nothing and less.
var russianLeftovers = map[string][2]string{
	"cfs":     {"созданы, но не исполнены до конца ФВ: %d", "закончено больше ФВ, чем создано: на %d"},
	"running": {"всё ещё исполняются ФВ: %d", "исполнений закончено больше, чем начато: на %d"},
	"copies":  {"сохранены и не удалены копии ФД: %d", "удалены копии ФД, которые не были сохранены: %d"},
	"bytes":   {"всё ещё занято байт: %d", "освобождено больше байт, чем было занято: на %d"},
	"inner": {"остались внутренние связи ФВ и ФД: %d",
		"внутренних связей ФВ и ФД закончилось больше, чем началось: на %d"},
	"outer": {"остались связи с другими узлами: %d",
		"связей с другими узлами закончилось больше, чем началось: на %d"},
	"ready_queue": {"в очереди остались готовые ФВ: %d", "длина очереди готовых ФВ меньше нуля: -%d"},
	"moving": {"отправлены с узла и никуда не пришли ФВ: %d",
		"пришло больше ФВ, чем было отправлено: на %d"},
	"dfs":        {"созданы и не уничтожены ФД: %d", "уничтожено больше ФД, чем создано: на %d"},
	"send_queue": {"в очереди остались сообщения: %d", "длина очереди сообщений меньше нуля: -%d"},
	"messages": {"отправлены, но не получены сообщения: %d",
		"получены сообщения, которых никто не отправлял: %d"},
}

// Leftover says what does not add up at the end of a run, in "en" or "ru".
func Leftover(v counters.Violation, lang string) string {
	forms, ok := russianLeftovers[v.What]
	if words.LangOf(lang) == words.English || !ok {
		return v.Text
	}
	var where words.Text
	switch {
	case v.Link != "":
		where = words.Say("", "связь %s: ", v.Link)
	case v.Node >= 0:
		where = words.Say("", "узел %d: ", v.Node)
	}
	form, n := forms[0], v.Value
	if n < 0 {
		form, n = forms[1], -n
	}
	return words.Say("", "%s"+form, where, n).In(words.Russian)
}

// crowd is hosts with equally many workers and cores; Host is the first of them.
type crowd struct {
	model.Host
	hosts int
}

// overcommitted gives the hosts with more workers than cores.
func overcommitted(list []model.Host) (out []crowd) {
	for _, h := range list {
		i := slices.IndexFunc(out, func(c crowd) bool { return c.Workers == h.Workers && c.Cores == h.Cores })
		switch {
		case h.Cores <= 0 || h.Workers <= h.Cores:
		case i >= 0:
			out[i].hosts++
		default:
			out = append(out, crowd{h, 1})
		}
	}
	return out
}
