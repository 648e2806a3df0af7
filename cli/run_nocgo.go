//go:build !cgo || !linux

package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/crew"
)

// canRun tells whether the engine is built in.
const canRun = false

func runProgram(context.Context, console.IO, *crew.Crew, *runOptions, *config.Plan, []string) error {
	return console.Exit(console.BadUsage, errNoEngine)
}

func repeatRun(context.Context, console.IO, *pflag.FlagSet, *runOptions, []string) error {
	return console.Exit(console.BadUsage, errNoEngine)
}

func runLuna(words []string, io console.IO) int {
	io.Say("%v", errNoEngine)
	return console.Failed
}

func runRTS(words []string, io console.IO) int { return runLuna(words, io) }

// steering is nothing where nothing runs.
type steering struct{}

// debugPage is nothing where nothing runs.
type debugPage struct{}

// checkRules has no engine to ask.
func checkRules(*config.Plan) error { return nil }
