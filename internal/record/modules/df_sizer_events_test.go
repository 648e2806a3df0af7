//go:build !no_df_sizer_events_module

package modules

import (
	"testing"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func TestDFSizer(t *testing.T) {
	for _, peak := range []bool{true, false} {
		r := startRun(t, 1, 1, use(t, "df_sizer_events_module", map[string]any{"peak": peak}))
		s := r.ses.Stream(0, 0, nil)
		r.ses.DFCreate.Emit(s, 1, 10_371_200_000, 0)
		r.ses.DFCreate.Emit(s, 2, 160, 0)
		r.ses.DFDestroy.Emit(s, 1, 10_371_200_000, trace.Expired)
		r.ses.DFCreate.Emit(s, 3, 8, 0)
		r.ses.DFDestroy.Emit(s, 2, 160, trace.Deleted)
		r.ses.DFDestroy.Emit(s, 3, 8, trace.End)
		want := "Total DF size created: 10371200168 bytes\nTotal DF size destroyed: 10371200168 bytes\n"
		if peak {
			want += "Peak DF size held: 10371200160 bytes\n"
		}
		if got := r.finish(t); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// Sums of many workers are right, also those asked for meanwhile.
func TestDFSizerManyStreams(t *testing.T) {
	r := startRun(t, 2, 4, use(t, "df_sizer_events_module", nil))
	m := r.modules.Get("df_sizer_events_module").(*DFSizer)
	crowd(r.ses, 2, 4, func(s *prof.Stream) {
		for i := range 1000 {
			r.ses.DFCreate.Emit(s, 1, int64(i), 0)
			if created, destroyed, peak := m.Sizes(); created < destroyed || peak < int64(i) {
				t.Errorf("%d, %d, %d", created, destroyed, peak)
			}
			r.ses.DFDestroy.Emit(s, 1, int64(i), trace.Deleted)
		}
	})
	created, destroyed, peak := m.Sizes()
	if want := int64(8 * 999 * 1000 / 2); created != want || destroyed != want || peak < 999 || peak > 8*999 {
		t.Errorf("%d, %d, %d, want %d", created, destroyed, peak, want)
	}
	r.finish(t)
}

func init() {
	examples = append(examples, example{"df_sizer_events_module example", printed("df_sizer_events_module",
		nil)})
}
