//go:build !no_df_events_module

package modules

import "github.com/whyslow/whyslow/prof"

func init() {
	prof.RegisterModule(logInfo("df_events_module", "logger_module for the events of data fragments",
		"DFEvents.*"))
}
