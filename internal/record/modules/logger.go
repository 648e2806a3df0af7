//go:build !no_logger_module

package modules

import "github.com/whyslow/whyslow/prof"

func init() {
	prof.RegisterModule(logInfo("logger_module", "writes every event, for people, tables or programs to read",
		"*"))
}
