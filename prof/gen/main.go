// Command gen writes the event objects of package prof and docs/events.md from trace.Kinds(). It
// runs in prof's folder: go generate ./prof
package main

import (
	"fmt"
	"os"
	"path/filepath"
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
var files = map[string]func() ([]byte, error){
	"events_gen.go":          eventsGo,
	"events_any_gen.go":      anyGo(false),
	"events_any_cfdf_gen.go": anyGo(true),
	"events_region_gen.go":   groupGo("region"),
	"events_cf_gen.go":       groupGo("cf"),
	"events_move_gen.go":     groupGo("move"),
	"events_df_gen.go":       groupGo("df"),
	"events_block_gen.go":    groupGo("block"),
	"events_system_gen.go":   groupGo("system"),
	"events_sync_gen.go":     groupGo("sync"),
	"events_work_gen.go":     groupGo("work"),
	"../docs/events.md":      eventsDoc,
}
