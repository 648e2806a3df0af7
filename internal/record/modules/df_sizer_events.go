//go:build !no_df_sizer_events_module

package modules

import (
	"fmt"
	"sync/atomic"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   "df_sizer_events_module",
		Doc:    "sums the sizes of all DFs created and destroyed",
		Output: "two or three lines at the end",
		Cost:   "25 ns per event, 30 with peak; no lock",
		Events: []string{trace.KindDFCreate.String(), trace.KindDFDestroy.String()},
		Params: []prof.Param{
			{Name: "peak", Default: true, Doc: "also print the largest sum at any moment"},
			{Name: "file", Default: "", Doc: outputDoc},
		},
		New: func() prof.Module { return &DFSizer{} },
	})
}

// DFSizer is df_sizer_events_module.
type DFSizer struct {
	streams    *prof.PerStream[dfSizes]
	held, peak atomic.Int64 // common to all streams, as the largest sum is one of a moment
	out        *prof.Output
	withPeak   bool
}

type dfSizes struct {
	created, destroyed atomic.Int64
	_                  [64]byte // another stream's are in another line of the cache
}

// Start connects the module.
func (m *DFSizer) Start(h *prof.Host) error {
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	m.withPeak = h.Bool("peak")
	m.streams = prof.NewPerStream[dfSizes](h.Session(), nil)
	err = h.Session().DFCreate.Connect(h.Name(), h.Priority(), func(s *prof.Stream, _ int64, _ trace.DF,
		size int64, _ trace.CF) {
		m.streams.Get(s).created.Add(size)
		if m.withPeak {
			m.hold(size)
		}
	})
	if err != nil {
		return err
	}
	return h.Session().DFDestroy.Connect(h.Name(), h.Priority(), func(s *prof.Stream, _ int64, _ trace.DF,
		size int64, _ trace.Reason) {
		m.streams.Get(s).destroyed.Add(size)
		if m.withPeak {
			m.held.Add(-size)
		}
	})
}

func (m *DFSizer) hold(size int64) {
	held := m.held.Add(size)
	for {
		peak := m.peak.Load()
		if held <= peak || m.peak.CompareAndSwap(peak, held) {
			return
		}
	}
}

// Sizes returns the sums so far, in bytes, at any time and from any goroutine. Each DF counts once, however
// many nodes have a copy. peak is the largest value of created less destroyed; 0 without the parameter peak.
func (m *DFSizer) Sizes() (created, destroyed, peak int64) {
	// In this order no DF appears as destroyed and not as created.
	m.streams.All(func(_ *prof.Stream, d *dfSizes) { destroyed += d.destroyed.Load() })
	m.streams.All(func(_ *prof.Stream, d *dfSizes) { created += d.created.Load() })
	return created, destroyed, m.peak.Load()
}

// Finish prints the sums.
func (m *DFSizer) Finish() error {
	created, destroyed, peak := m.Sizes()
	text := fmt.Sprintf("Total DF size created: %d bytes\nTotal DF size destroyed: %d bytes\n", created,
		destroyed)
	if m.withPeak {
		text += fmt.Sprintf("Peak DF size held: %d bytes\n", peak)
	}
	put(m.out, []byte(text))
	return nil
}
