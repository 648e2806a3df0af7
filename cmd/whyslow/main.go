// Command whyslow runs task-parallel programs and tells why they are slow.
//
// One file holds one verb. cli.go maps the name the program was called by, and every error, to what the user sees.
package main

import "os"

func main() { os.Exit(execute(os.Args, terminal())) }
