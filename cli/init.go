package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
)

func initCommand(io console.IO) *cobra.Command {
	force, preset := false, ""
	cmd := &cobra.Command{
		Use:   "init [flags] [FOLDER]",
		Short: "Write commented configuration files with the defaults",
		Long: `Write ` + config.EventsFile + ` and ` + config.ModulesFile +
			` to a folder (default: config). They list
every event, group and module with its meaning. Until you edit them, they change nothing. whyslow run finds
them beside the program, or in a folder config there. Existing files stay unless --force is given.
` + exitCodes(1, 2),
		Example: `  whyslow init
  whyslow init myprogram/config
  whyslow init --preset Basic
  whyslow run --explain-config myprogram/prog.fa`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if preset != "" {
				return printPreset(io, preset)
			}
			dir := "config"
			if len(args) > 0 {
				dir = args[0]
			}
			return runInit(io, dir, force)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace files that are there")
	cmd.Flags().StringVar(&preset, "preset", "", "print the files that say the same as a preset: `NAME`,"+
		" one of "+strings.Join(config.PresetNames(), ", "))
	return cmd
}

func printPreset(io console.IO, name string) error {
	p, err := config.FindPreset(name)
	if err != nil {
		return console.Misuse("init: %w", err)
	}
	events, modules := p.Files(prof.Modules())
	_, err = fmt.Fprintf(io.Out, "// %s\n%s// %s\n%s", config.EventsFile, events, config.ModulesFile, modules)
	return badInput(err)
}

func runInit(io console.IO, dir string, force bool) error {
	events, modules := config.Defaults()
	files := []struct {
		path string
		text []byte
	}{{filepath.Join(dir, config.EventsFile), events}, {filepath.Join(dir, config.ModulesFile), modules}}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return badInput(err)
	}
	for _, f := range files { // look first: either both are written or none
		if _, err := os.Lstat(f.path); err == nil && !force {
			return console.Exit(console.BadUsage, fmt.Errorf("%s: already exists; --force replaces it", f.path))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return badInput(err)
		}
	}
	for _, f := range files {
		if err := os.WriteFile(f.path, f.text, 0o666); err != nil {
			return badInput(err)
		}
		fmt.Fprintln(io.Out, f.path)
	}
	return nil
}
