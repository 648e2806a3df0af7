// Package modules holds the standard profiling modules. Each is in a file of its own,
// which registers it when the program starts; to have a whyslow without one, build with
// its name as a tag: -tags no_logger_module. What they do for users is in docs/modules.md.
//
// Handlers run in the goroutine of the worker that emits, and nothing in this package makes workers wait for
// each other there: state is kept by stream (prof.PerStream) and summed up when someone asks; what is known
// of a CF, which one worker creates and another runs, is in a table without locks (cfTable). Text is
// collected by stream and handed over in large pieces (ordered). In steady state no handler allocates.
package modules

// What the registrations say of parameters that several modules have.
const (
	outputDoc = "a file, - (standard output), tcp://HOST:PORT; empty: the terminal (standard error)"
	bufferDoc = "bytes collected per stream before they are written; 0: write each line at once, as it comes"
)

// put writes text at once. The Output keeps an error, and tells.
func put(out flusher, text []byte) {
	_, _ = out.Write(text)
	_ = out.Flush()
}
