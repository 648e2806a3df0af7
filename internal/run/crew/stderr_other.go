//go:build !linux

package crew

// LeadStderr leaves standard error as it is: elsewhere than on Linux there are no runs of many processes.
func LeadStderr(argv, verbs []string) {}

// EndStderr has nothing to wait for.
func EndStderr() {}
