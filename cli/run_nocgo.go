//go:build !cgo

package cli

import (
	"context"
	"errors"

	"github.com/whyslow/whyslow/prof/config"
)

// canRun tells whether the engine is built in.
const canRun = false

var errNoEngine = errors.New("this whyslow cannot run programs: it was built with CGO_ENABLED=0; build it with a C compiler (gcc) and CGO_ENABLED=1")

func runProgram(context.Context, stdio, *crew, *runOptions, *config.Plan, []string) error {
	return exitWith(exitUsage, errNoEngine)
}

func runLuna(words []string, io stdio) int {
	io.say("%v", errNoEngine)
	return exitFailed
}

func runRTS(words []string, io stdio) int {
	io.say("%v", errNoEngine)
	return exitFailed
}

// checkRules has no engine to ask.
func checkRules(*config.Plan) {}

// stderrLines has no user code to serve.
type stderrLines struct{}

var errLines *stderrLines

func startStderrLines([]string) *stderrLines { return nil }

func (*stderrLines) end() {}
