//go:build linux && !no_logger_module && !no_luna_log_module && !no_df_sizer_events_module

package modules

import (
	"os"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/prof"
)

// A full disk is told once: while the program runs, which goes on without the module, or at the end.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", dir+"/log.00"); err != nil {
		t.Fatal(err)
	}
	for name, params := range map[string]map[string]any{
		"logger_module":          {"file": "/dev/full", "buffer": 100},
		"df_sizer_events_module": {"file": "/dev/full"},
		"luna_log_module":        {"dir": dir, "buffer": 100},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRun(t, 1, 2, use(t, name, params))
			crowd(r.ses, 1, 2, func(s *prof.Stream) {
				for i := range 2000 {
					r.ses.DFCreate.Emit(s, 1, int64(i), 0)
				}
			})
			var told []string
			if err := r.modules.Finish(); err != nil {
				told = lines(err.Error())
			}
			for {
				select {
				case message := <-r.told:
					told = append(told, message)
					continue
				default:
				}
				break
			}
			if len(told) != 1 || !strings.Contains(told[0], "no space left on device") || !strings.Contains(told[0],
				name) {
				t.Errorf("told %q", told)
			}
		})
	}
}
