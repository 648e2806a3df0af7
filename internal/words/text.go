package words

import "fmt"

// Text is something said in every language with the same arguments.
type Text struct {
	forms Phrase
	args  []any
}

// Phrase is a format in every language: English, Russian.
type Phrase [2]string

// With makes a text of the phrase, as Say does.
func (p Phrase) With(args ...any) Text { return Text{p, args} }

// In is the phrase in a language, where it takes no arguments.
func (p Phrase) In(l Lang) string { return p[l] }

// Say makes a text of formats as of fmt.Sprintf. Arguments of this package's types (Text, Time, Size, Share,
// Decimal, Number) are written, for %s, in the language of the text. A language that needs another order says
// so in its format: %[2]s.
func Say(english, russian string, args ...any) Text { return Text{Phrase{english, russian}, args} }

// Worded is what is written differently in each language.
type Worded interface{ In(l Lang) string }

// In writes the text in a language.
func (t Text) In(l Lang) string {
	if len(t.args) == 0 {
		return t.forms[l]
	}
	args := make([]any, len(t.args))
	for i, a := range t.args {
		if w, ok := a.(Worded); ok {
			a = w.In(l)
		}
		args[i] = a
	}
	return fmt.Sprintf(t.forms[l], args...)
}

// Time is a time in nanoseconds.
type Time int64

// In is Lang.Duration.
func (t Time) In(l Lang) string { return l.Duration(int64(t)) }

// Size is a number of bytes.
type Size int64

// In is Lang.Bytes.
func (s Size) In(l Lang) string { return l.Bytes(int64(s)) }

// Share is a part of a whole, both in the same unit.
type Share struct{ Part, Whole int64 }

// In is Lang.Percent.
func (s Share) In(l Lang) string { return l.Percent(s.Part, s.Whole) }

// Decimal is a number with one digit after the point.
type Decimal float64

// In writes it as "1.5", "1,5".
func (d Decimal) In(l Lang) string { return l.Fixed(float64(d), 1) }

// Number is a number of things.
type Number struct {
	N    int64
	What Noun
}

// In is Lang.Count.
func (n Number) In(l Lang) string { return l.Count(n.N, n.What) }

// Noun is a word after a number; where it is empty in a language, the number stands alone.
type Noun struct {
	One, More string    // in English
	Russian   [3]string // as after 1, 2 and 5, in the case that the sentence asks for
}

// Nouns in the nominative, which is also the accusative.
var (
	CFs      = Noun{"CF", "CFs", [3]string{"ФВ", "ФВ", "ФВ"}} // in every case
	DFs      = Noun{"DF", "DFs", [3]string{"ФД", "ФД", "ФД"}} // in every case
	Workers  = Noun{"worker", "workers", [3]string{"рабочий поток", "рабочих потока", "рабочих потоков"}}
	Cores    = Noun{"core", "cores", [3]string{"ядро", "ядра", "ядер"}}
	Messages = Noun{"message", "messages", [3]string{"сообщение", "сообщения", "сообщений"}}
	Events   = Noun{"event", "events", [3]string{"событие", "события", "событий"}}
	Waits    = Noun{"wait", "waits", [3]string{"ожидание", "ожидания", "ожиданий"}}
	Times    = Noun{"time", "times", [3]string{"раз", "раза", "раз"}}
)

// Nouns in the genitive ("of 3 messages"), instrumental ("with 2 workers") and prepositional ("on 3 cores").
var (
	OfWorkers   = Noun{"worker", "workers", [3]string{"рабочего потока", "рабочих потоков", "рабочих потоков"}}
	OfMessages  = Noun{"message", "messages", [3]string{"сообщения", "сообщений", "сообщений"}}
	WithWorkers = Noun{"worker", "workers", [3]string{"рабочим потоком", "рабочими потоками",
		"рабочими потоками"}}
	OnCores = Noun{"core", "cores", [3]string{"ядре", "ядрах", "ядрах"}}
	OnNodes = Noun{"node", "nodes", [3]string{"узле", "узлах", "узлах"}}
)

// AlwaysMore is the noun whose English is the plural after every number.
func (w Noun) AlwaysMore() Noun {
	w.One = w.More
	return w
}

func (w Noun) form(l Lang, n int64) string {
	if l == English {
		if n == 1 {
			return w.One
		}
		return w.More
	}
	d := max(n, -n) % 100
	switch {
	case d%10 == 1 && d != 11:
		return w.Russian[0]
	case d%10 >= 2 && d%10 <= 4 && (d < 12 || d > 14):
		return w.Russian[1]
	}
	return w.Russian[2]
}

// MarshalText is In for English.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.In(English)), nil }
