// Command whyslow runs task-parallel programs and tells why they are slow.
//
// One file holds one verb. cli.go maps the name the program was called by, and every error, to what the user sees.
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	// While a program runs the Go heap holds CFs, which come and go (the values of DFs are in C memory); while a trace is
	// read, columns that stay to the end. Neither is worth collecting often.
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
	}
	os.Exit(execute(os.Args, terminal()))
}
