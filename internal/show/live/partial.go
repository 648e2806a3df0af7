package live

import "github.com/whyslow/whyslow/internal/words"

// Partial is the error that an answer needs the whole run while memory has room for a part of it. Figures of
// a part look like those of the run and are wrong, so there are none.
type Partial struct{ need, memory int64 }

// Text is the error as a sentence.
func (e *Partial) Text() words.Text {
	return words.Say("This needs the whole trace in memory: %s; --memory allows %s.",
		"Для этого нужна вся трасса в памяти: %s, а --memory разрешает %s.",
		words.Size(e.need), words.Size(e.memory))
}

// Warning says what stands above the figures that there are.
func (e *Partial) Warning() words.Text {
	return words.Say("Only a part of this run is in memory: the whole trace needs %s and --memory allows %s. "+
		"Views that need the whole run show nothing; factors are undivided where they are not known.",
		"В памяти только часть этого запуска: для всей трассы нужно %s, а --memory разрешает %s. Виды, которым "+
			"нужен весь запуск, ничего не показывают; где факторы неизвестны, время не разделено.",
		words.Size(e.need), words.Size(e.memory))
}

func (e *Partial) Error() string { return e.Text().In(words.English) }

// Whole fails with Partial unless the snapshot has all of the run.
func (s *Snapshot) Whole() error {
	if s.whole() {
		return nil
	}
	return &Partial{int64(s.Reader.Events()) * snapshotBytes * (1 + keepParts), s.run.opt.Memory}
}

// Has fails with Partial unless the snapshot has all events of an interval, in nanoseconds since the start of
// the run.
func (s *Snapshot) Has(from, to int64) error {
	if s.Span.From <= max(from, 0) && min(to, s.Model.Wall()) <= s.Span.To {
		return nil
	}
	return s.Whole()
}
