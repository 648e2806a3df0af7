//go:build !no_cf_events_module

package modules

import "github.com/whyslow/whyslow/prof"

func init() {
	prof.RegisterModule(logInfo("cf_events_module", "logger_module for the events of computational fragments",
		"CFEvents.*"))
}
