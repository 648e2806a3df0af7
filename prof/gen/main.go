// Command gen writes the event objects of package prof and docs/events.md from trace.Kinds(). It
// runs in prof's folder: go generate ./prof
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

func main() {
	for path, make := range files {
		text, err := make()
		if err == nil {
			err = os.WriteFile(filepath.FromSlash(path), text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// files are what is generated, relative to prof's folder.
var files = map[string]func() ([]byte, error){"events_gen.go": eventsGo, "../docs/events.md": eventsDoc}

// perFile events have a file together, so that none gets long.
const perFile = 6

func init() {
	i := 0
	for kinds := range slices.Chunk(trace.Kinds(), perFile) {
		i++
		files[fmt.Sprintf("events_%d_gen.go", i)] = func() ([]byte, error) { return kindsGo(kinds) }
	}
}
