package report

import "github.com/whyslow/whyslow/internal/words"

// speaker writes the sections of the report in a language.
type speaker struct{ lang words.Lang }

// say is words.Say with a format of the catalogue; what is not there, such as a name, is the same in every
// language.
func (s speaker) say(format string, args ...any) string {
	both := catalogue[format]
	if both[words.Russian] == "" {
		both = words.Phrase{format, format}
	}
	return both.With(args...).In(s.lang)
}

// factor is the name of a factor by its letter.
func (s speaker) factor(letter string) string {
	for _, f := range factorNames {
		if f.letter == letter {
			return s.say(f.name)
		}
	}
	return letter
}

var catalogue = func() map[string]words.Phrase {
	m := map[string]words.Phrase{}
	for _, p := range sentences {
		m[p[words.English]] = p
	}
	return m
}()

// nouns are what is counted, by their names in English.
var nouns = map[string]words.Noun{
	"CF": words.CFs, "DF": words.DFs, "worker": words.Workers, "time": words.Times,
	"node":   {One: "node", More: "nodes", Russian: [3]string{"узел", "узла", "узлов"}},
	"thread": {One: "thread", More: "threads", Russian: [3]string{"поток", "потока", "потоков"}},
	"link":   {One: "link", More: "links", Russian: [3]string{"связь", "связи", "связей"}},
	"window": {One: "window", More: "windows", Russian: [3]string{"окно", "окна", "окон"}},
	"other":  {One: "other", More: "others", Russian: [3]string{"другой", "других", "других"}},
	"copy":   {One: "copy", More: "copies", Russian: [3]string{"копия", "копии", "копий"}},
	"atomic CF": {One: "atomic CF", More: "atomic CFs", Russian: [3]string{"атомарный ФВ", "атомарных ФВ",
		"атомарных ФВ"}},
	"structured CF": {One: "structured CF", More: "structured CFs", Russian: [3]string{"структурированный ФВ",
		"структурированных ФВ", "структурированных ФВ"}},
	"more waiting": {One: "more CF waits", More: "more CFs wait",
		Russian: [3]string{"другой ФВ ждёт", "других ФВ ждут", "других ФВ ждут"}},
}
