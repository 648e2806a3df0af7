//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

// For tests of what is converted: what Perfetto's trace processor says of a file.
var (
	Ask      = ask
	AskStats = askStats
)
