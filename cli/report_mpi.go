package cli

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/whyslow/whyslow/internal/procs"
)

// shareHost keeps the ranks of a host out of each other's way: each uses its share of the cores, and as little memory as it
// can. Many ranks are for traces that one process has no room for.
func shareHost(w world) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/max(w.HostSize(), 1), 1))
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(50)
	}
}

// gatherProblems brings what each rank says is missing or damaged to rank 0.
func gatherProblems(g procs.Group, own []string) (all []string, err error) {
	in, err := procs.Gather(g, 0, procs.Encode(&own))
	if err != nil {
		return nil, err
	}
	for rank, b := range in {
		var list []string
		if err := procs.Decode(b, &list); err != nil {
			return nil, procs.Told(rank, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// toUser gives an error that has no exit code yet the usual one.
func toUser(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return badInput(err)
}
