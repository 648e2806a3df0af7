// Package effort says how much the tests try. By default they try a little of everything, in minutes. With
// WHYSLOW_TEST_LONG=1 in the environment (make test-long) they try all there is: every program, random cases
// by the hundred, sanitizers.
//
// A test package that imports it checks rapid's properties with fewer cases by default; -rapid.checks
// says otherwise.
package effort

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // has flags
)

// Long is whether the tests try all there is.
var Long = os.Getenv("WHYSLOW_TEST_LONG") != ""

// fewChecks is the number of random cases of a property by default. It is 100 with Long, rapid's own default.
const fewChecks = "20"

func init() {
	if !Long {
		_ = flag.Set("rapid.checks", fewChecks) // the flag is there
	}
}

// Times returns how often to try something: a few times, or many times with Long.
func Times(few, many int) int {
	if Long {
		return many
	}
	return few
}

// Only skips a test that runs with Long alone.
func Only(t testing.TB) {
	t.Helper()
	if !Long {
		t.Skip("make test-long runs it")
	}
}
