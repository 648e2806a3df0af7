package cli

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/record/modules/native"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
)

// profileOptions say which events are recorded and which modules get them.
type profileOptions struct {
	flags config.Flags
}

func (o *profileOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.flags.Events, "events", nil, "`which` events are on: a file like events_config.json"+
		" (.json or a path), or a list: DFEvents.*,CFEvents.onReady (only these), +NAME,-NAME (changes), all, none")
	f.StringArrayVar(&o.flags.Modules, "modules", nil, "`which` modules run: a file like"+
		" modules_settings.json (.json or a path), or a list: logger_module (only these), +NAME,-NAME"+
		" (changes), all, none")
	f.StringArrayVar(&o.flags.Groups, "group", nil, "switch a group of events: `NAME=on|off` (repeatable)")
	f.StringArrayVar(&o.flags.Sets, "set", nil, "set a parameter of a module: `MODULE.PARAM=VALUE` (repeatable)")
	f.StringArrayVar(&o.flags.Presets, "preset", nil, "events and modules for a purpose: `NAME`, one of "+
		strings.Join(config.PresetNames(), ", ")+" (repeatable)")
	o.complete(cmd)
}

// load plans for a program in a folder. It loads libraries, which know parameters and what they require.
func (o *profileOptions) load(verb, dir string) (*config.Plan, error) {
	plan, err := o.plan(dir)
	if err == nil {
		err = plan.OpenLibraries(openModule)
	}
	if errors.Is(err, prof.ErrLeft) {
		return nil, console.Exit(console.Interrupted, err)
	}
	if err != nil && strings.HasPrefix(err.Error(), "--") {
		return nil, console.Misuse("%s: %w", verb, err)
	}
	if err != nil {
		return nil, console.Exit(console.BadUsage, err)
	}
	return plan, nil
}

// plan is load without what only libraries know.
func (o *profileOptions) plan(dir string) (*config.Plan, error) {
	return config.Load(dir, o.flags, prof.Modules())
}

// openModule asks a library or a program what module it is.
func openModule(path string) (prof.ModuleInfo, error) {
	if strings.Contains(filepath.Base(path), ".so") {
		return native.Open(path)
	}
	return modules.OpenProgram(path)
}
