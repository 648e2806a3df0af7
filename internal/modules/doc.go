// Package modules holds the standard profiling modules. Each is in a file of its own,
// which registers it when the program starts; to have a whyslow without one, build with
// its name as a tag: -tags no_logger_module. What they do for users is in docs/modules.md.
//
// Handlers run in the goroutine of the worker that emits, and nothing in this package
// makes workers wait for each other there: state is kept by stream (prof.PerStream) and
// summed up when someone asks. Where a fact of one stream is needed at another, as with
// the code fragment of a CF that was created by another worker, a lock of one of many
// parts of a table is taken, and the module's documentation says so. In steady state no
// handler allocates.
package modules
