// Package cli is the command whyslow, to be called from a main of one line. A program of yours that imports
// packages with modules of its own (see prof.RegisterModule) beside this one is a whyslow that has them:
//
//	package main
//
//	import (
//		"github.com/whyslow/whyslow/cli"
//		_ "example.com/you/yourmodule"
//	)
//
//	func main() { cli.Main() }
//
// One file holds one verb. cli.go maps the name the program was called by, and every error, to what the user
// sees.
package cli

import (
	"os"
	"runtime"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/run/crew"
)

// The kernel gives a signal for the process to its main thread. It would end a sleep or a read of user code
// early. So the main thread stays with the main goroutine, which only waits while user code runs. Signal
// handlers of user code run there too.
func init() { runtime.LockOSThread() }

// Main does what the command line says and ends the process.
func Main() {
	// While a program runs the Go heap holds CFs, which come and go (the values of DFs are in C memory);
	// while a trace is read, columns that stay to the end. Neither is worth collecting often while small.
	memory.LimitGarbage(400)
	otf2.Serve(os.Args)
	crew.LeadStderr(os.Args, verbsOfUserCode)
	code := execute(os.Args, console.Standard())
	crew.EndStderr()
	os.Exit(code)
}
