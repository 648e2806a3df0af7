// Command whyslow runs task-parallel programs and tells why they are slow.
package main

import "github.com/whyslow/whyslow/cli"

func main() { cli.Main() }
