// Package standard runs whyslow's standard modules in a Go program that records itself: a Perfetto file, a
// profile, logs, live state, as the program's configuration files say.
//
//	rec, err := prof.Record("pi.trace", workers)
//	modules, err := standard.Start(rec, ".") // events_config.json and modules_settings.json in this folder
//	...
//	err = errors.Join(rec.Close(), modules.Finish())
package standard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/whyslow/whyslow/internal/record/modules" // they register themselves
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
)

// Modules are the modules that run.
type Modules struct{ run *prof.ModuleRun }

// Start starts the modules that modules_settings.json in the folder dir, or in its folder config, switches
// on, and has the events on that events_config.json there names; without that file all are. Without
// modules_settings.json no module runs. sets are parameters beyond those of the file, such as
// "perfetto_module.enabled=true" or "perfetto_module.file=pi.json". The trace is the recording's own, so
// trace_writer_module has no effect. What is skipped in the files is listed on standard error. It must be
// called before the first event, and before others change which events are on.
func Start(rec *prof.Recording, dir string, sets ...string) (*Modules, error) {
	plan, err := config.Load(dir, config.Flags{NoTrace: true, Sets: sets}, prof.Modules())
	if err != nil {
		return nil, err
	}
	for _, w := range plan.Warnings {
		fmt.Fprintf(os.Stderr, "whyslow: warning: %v\n", w)
	}
	var uses []prof.Use
	for _, m := range plan.Modules {
		switch {
		case !m.On:
		case m.Library != "":
			return nil, fmt.Errorf("%s is in the library %s: a Go program registers its modules itself"+
				" (prof.RegisterModule)", m.Name, m.Library)
		default:
			uses = append(uses, prof.Use{Info: m.Info, Priority: m.Priority, Params: m.Params})
		}
	}
	if plan.EventsFile != "" {
		rec.Choose(plan.On)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	run, err := rec.StartModules(uses, prof.RunFacts{Program: program, Args: os.Args[1:], Nodes: 1,
		Workers: rec.Workers(), PID: os.Getpid(), Host: host, Started: time.Now(), StartNS: prof.Now()})
	if err != nil {
		return nil, err
	}
	return &Modules{run}, nil
}

// Get returns a module that runs, nil if none of that name does.
func (m *Modules) Get(name string) prof.Module { return m.run.Get(name) }

// Finish has the modules write their results, after the recording was closed. It returns what failed.
func (m *Modules) Finish() error { return m.run.Finish() }
