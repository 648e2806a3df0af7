//go:build !race && !no_logger_module && !no_luna_log_module && !no_cf_counter_events_module && !no_df_sizer_events_module && !no_foreign_block_timer_module

package modules

import (
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// Once buffers have their size and everything has been seen, an event allocates nothing.
func TestHandlersDoNotAllocate(t *testing.T) {
	r := startRun(t, 1, 1,
		use(t, "logger_module", map[string]any{"file": "/dev/null"}),
		use(t, "df_events_module", map[string]any{"file": "/dev/null", "format": "csv"}),
		use(t, "cf_events_module", map[string]any{"file": "/dev/null", "format": "json"}),
		use(t, "luna_log_module", map[string]any{"dir": t.TempDir()}),
		use(t, "cf_counter_events_module", map[string]any{"by_code": true}), use(t, "df_sizer_events_module", nil),
		use(t, "foreign_block_timer_module", nil))
	s := r.ses.Stream(0, 0, nil)
	inputs := []trace.DF{3, 4}
	i := 0
	portion := func() {
		for range 100 {
			i++
			life(r.ses, s, i, inputs)
		}
	}
	for range 30 {
		portion()
	}
	if n := testing.AllocsPerRun(50, portion); n > 1 { // a part of the table of CFs now and then
		t.Errorf("%v allocations in 800 events", n)
	}
	r.finish(t)
}
