//go:build !no_global_events_module

package modules

import "github.com/whyslow/whyslow/prof"

func init() {
	prof.RegisterModule(logInfo("global_events_module", "logger_module for the events of blocks, user code "+
		"and the run-time system", "GlobalEvents.*"))
}
