package report

import "github.com/whyslow/whyslow/internal/words"

// speaker writes the sections of the report in a language.
type speaker struct {
	lang  words.Lang
	ranks bool // threads are the ranks of an MPI program
	tasks bool // CFs are tasks of an OpenMP program, or parts of them
}

// in writes a text in the words of the program.
func (s speaker) in(text words.Text) string {
	if s.ranks {
		text = text.OfRanks()
	}
	if s.tasks {
		text = text.OfTasks()
	}
	return text.In(s.lang)
}

// say is words.Say with a format of the catalogue; what is not there, such as a name, is the same in every
// language.
func (s speaker) say(format string, args ...any) string {
	both := catalogue[format]
	if both[words.Russian] == "" {
		both = words.Phrase{format, format}
	}
	return s.in(both.With(args...))
}

// factor is the name of a factor by its letter.
func (s speaker) factor(letter string) string { return s.in(words.FactorName(letter).With()) }

// phrase is what a list says of a name; what is not there stands for itself.
func (s speaker) phrase(list map[string]words.Phrase, name string) string {
	if p, ok := list[name]; ok {
		return s.in(p.With())
	}
	return name
}

var catalogue = func() map[string]words.Phrase {
	m := map[string]words.Phrase{}
	for _, p := range sentences {
		m[p[words.English]] = p
	}
	return m
}()

// nouns are what only reports count, by their names in English.
var nouns = map[string]words.Noun{
	"call": {One: "call", More: "calls", Russian: [3]string{"вызов", "вызова", "вызовов"}},
	"lock": {One: "lock", More: "locks", Russian: [3]string{"блокировка", "блокировки", "блокировок"}},
	"run":  {One: "run", More: "runs", Russian: [3]string{"серия", "серии", "серий"}},
	"blocking transfer": {One: "blocking transfer", More: "blocking transfers", Russian: [3]string{
		"блокирующая передача", "блокирующие передачи", "блокирующих передач"}},
}

// counted is a number of things, by their name in English.
func counted(n int64, what string) words.Number {
	if noun, ok := nouns[what]; ok {
		return words.Number{N: n, What: noun}
	}
	return words.Number{N: n, What: words.Nouns[what]}
}
