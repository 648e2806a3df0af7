package live

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// Partial is the error that an answer needs the whole run while memory has room for a part of it. Figures of
// a part look like those of the run and are wrong, so there are none.
type Partial struct {
	need, memory int64
	exported     *slou.Interval // the trace has no more; nil: memory is short
}

// Exported tells whether that is all that the trace has: then its figures are those of an interval, and
// whole.
func (e *Partial) Exported() bool { return e.exported != nil }

// Text is the error as a sentence.
func (e *Partial) Text() words.Text {
	if v := e.exported; v != nil {
		return words.Say("This needs the whole run. The trace was exported: it has the interval from %s to %s.",
			"Для этого нужен весь запуск. Трасса экспортирована: в ней интервал с %s до %s.", words.Time(v.FromNS),
			words.Time(v.ToNS))
	}
	return words.Say("This needs the whole trace in memory: %s; --memory allows %s.",
		"Для этого нужна вся трасса в памяти: %s, а --memory разрешает %s.",
		words.Size(e.need), words.Size(e.memory))
}

// Warning says what stands above the figures that there are.
func (e *Partial) Warning() words.Text {
	if v := e.exported; v != nil {
		return words.Say("This trace was exported: it has the interval from %s to %s of the run. Views that need "+
			"the whole run show nothing.", "Эта трасса экспортирована: в ней интервал запуска с %s до %s. Виды, "+
			"которым нужен весь запуск, ничего не показывают.", words.Time(v.FromNS), words.Time(v.ToNS))
	}
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
	events := uint64(s.Reader.Events())
	need := int64(events) * snapshotBytes * (1 + keepParts)
	if o := s.run.opt; o.Spill && s.run.onDisk(events) {
		need = max(int64(events)*heldBytes/3*4, o.Memory/10*11) // what is nearly enough would look like enough
	}
	return &Partial{need, s.run.opt.Memory, s.exported}
}

// Exported is the part of the run that an exported trace has; nil: all of it.
func (s *Snapshot) Exported() *slou.Interval { return s.exported }

// WholeOf is Whole for a question about an interval. An exported trace has what its own needs.
func (s *Snapshot) WholeOf(from, to int64) error {
	if v := s.exported; v != nil && from >= v.FromNS && to <= v.ToNS {
		return nil
	}
	return s.Whole()
}

// Has fails with Partial unless the snapshot has all events of an interval, in nanoseconds since the start of
// the run.
func (s *Snapshot) Has(from, to int64) error {
	if s.Span.From <= max(from, 0) && min(to, s.Model.Wall()) <= s.Span.To {
		return nil
	}
	return s.Whole()
}
