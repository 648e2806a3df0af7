package words

import "regexp"

// What is said of CFs, DFs and workers is said of the tasks, dependences and threads of OpenMP programs, in
// the same sentences. A task is whatever a thread executes: OpenMP calls the share of a loop, too, a part of
// an implicit task. In Russian only the threads change: an abbreviation such as ФВ stands in any case, and a
// word would not.

// TaskWords are patterns and what stands for them in OpenMP programs, by language. A word that begins a
// sentence is capital.
var TaskWords = [2][][2]string{
	English: {
		{`hreads other than the workers`, "hreads that run no tasks"},
		{`(^|[.?!] )CFs\b`, "${1}Tasks"}, {`(^|[.?!] )CF\b`, "${1}Task"},
		{`(^|[.?!] )DFs\b`, "${1}Dependences"}, {`(^|[.?!] )DF\b`, "${1}Dependence"},
		{`\bCFs\b`, "tasks"}, {`\bCF\b`, "task"}, {`\bDFs\b`, "dependences"}, {`\bDF\b`, "dependence"},
		{`\bWorker(s?)\b`, "Thread${1}"}, {`\bworker(s?)\b`, "thread${1}"},
		{`\bCode fragment(s?)\b`, "Construct${1}"}, {`\bcode fragment(s?)\b`, "construct${1}"},
	},
	Russian: {
		{`омимо рабочих потоков`, "омимо потоков с задачами"},
		{`Рабоч[а-я]+ поток`, "Поток"}, {`рабоч[а-я]+ поток`, "поток"},
	},
}

type rewording struct {
	word *regexp.Regexp
	by   string
}

var taskWords = func() (list [2][]rewording) {
	for l := range TaskWords {
		for _, w := range TaskWords[l] {
			list[l] = append(list[l], rewording{regexp.MustCompile(w[0]), w[1]})
		}
	}
	return list
}()

// OfTasks is the phrase with the words of OpenMP.
func (p Phrase) OfTasks() Phrase {
	for l := range p {
		for _, w := range taskWords[l] {
			p[l] = w.word.ReplaceAllString(p[l], w.by)
		}
	}
	return p
}

// OfTasks is the text with the words of OpenMP. Names of the program are arguments, and stay.
func (t Text) OfTasks() Text { return t.each(Phrase.OfTasks, Noun.ofTasks) }

// ofTasks is the noun, which stands after a number.
func (w Noun) ofTasks() Noun {
	after := func(l Lang, word string) string {
		var p Phrase
		p[l] = "1 " + word
		return p.OfTasks()[l][len("1 "):]
	}
	if w.One != "" {
		w.One = after(English, w.One)
	}
	if w.More != "" {
		w.More = after(English, w.More)
	}
	for i := range w.Russian {
		w.Russian[i] = after(Russian, w.Russian[i])
	}
	return w
}
