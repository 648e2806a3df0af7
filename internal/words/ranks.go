package words

import "regexp"

// What is said of the threads of PGAS programs is said of the ranks of MPI programs, in the same sentences:
// nobody calls a rank a thread. Threads that are not the program's stay threads.

var (
	threadWord = regexp.MustCompile(`other threads \(|(own |system |worker )?\b([Tt])hread(s? clocks?)?`)
	// поток and ранг are declined alike.
	threadWordRussian = regexp.MustCompile(`прочие потоки|(собственн\S+ |рабоч\S+ |часы )?([Пп])оток`)
)

// OfRanks is the phrase with ranks in place of threads.
func (p Phrase) OfRanks() Phrase {
	return Phrase{
		replaced(threadWord, p[English], map[string]string{"t": "rank", "T": "Rank"}),
		replaced(threadWordRussian, p[Russian], map[string]string{"п": "ранг", "П": "Ранг"}),
	}
}

func replaced(word *regexp.Regexp, s string, by map[string]string) string {
	return word.ReplaceAllStringFunc(s, func(found string) string {
		m := word.FindStringSubmatch(found)
		if m[1] != "" || m[2] == "" || len(m) > 3 && m[3] != "" {
			return found
		}
		return by[m[2]]
	})
}

// OfRanks is the text with ranks in place of threads. Names of the program are arguments, and stay.
func (t Text) OfRanks() Text { return t.each(Phrase.OfRanks, Noun.ofRanks) }

func (w Noun) ofRanks() Noun {
	w.One, w.More = Phrase{w.One, ""}.OfRanks()[English], Phrase{w.More, ""}.OfRanks()[English]
	for i := range w.Russian {
		w.Russian[i] = Phrase{"", w.Russian[i]}.OfRanks()[Russian]
	}
	return w
}

// each is the text with other words in its formats, those of its arguments included.
func (t Text) each(phrase func(Phrase) Phrase, noun func(Noun) Noun) Text {
	out := Text{phrase(t.forms), make([]any, len(t.args))}
	for i, a := range t.args {
		switch a := a.(type) {
		case Text:
			out.args[i] = a.each(phrase, noun)
		case Phrase:
			out.args[i] = phrase(a)
		case Number:
			out.args[i] = Number{a.N, noun(a.What)}
		default:
			out.args[i] = a
		}
	}
	return out
}
