//go:build !unix

package launch

// inForeground tells whether a terminal sends its signals to this process.
func inForeground() bool { return true }
