package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/settings"
	"github.com/whyslow/whyslow/internal/words"
)

// Defaults of flags: from the environment, WHYSLOW_VERB_FLAG, then from the files that package settings
// finds. A flag on the command line comes before all of them.

// inEffect is a default that counts.
type inEffect struct {
	Verb   string   `json:"verb"`
	Flag   string   `json:"flag"`
	Values []string `json:"values"`
	From   string   `json:"from"` // FILE:LINE, or $VARIABLE
}

// variable is the environment variable of a flag.
func variable(verb, flag string) string {
	return "WHYSLOW_" + strings.ToUpper(strings.ReplaceAll(verb+"_"+flag, "-", "_"))
}

// readDefaults reads all files, the most important first.
func readDefaults(root *cobra.Command) (list []settings.Setting, err error) {
	for _, path := range settings.Files() {
		l, err := settings.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, badInput(console.FileError(err))
		}
		for _, s := range l {
			if err := known(root, s); err != nil {
				return nil, badInput(err)
			}
		}
		list = append(list, l...)
	}
	return list, nil
}

// settable tells whether a flag may have a default of the user.
func settable(f *pflag.Flag) bool { return !f.Hidden && f.Name != "help" && f.Name != "version" }

// known finds out whether there is such a verb and flag.
func known(root *cobra.Command, s settings.Setting) error {
	var verbs, flags []string
	for _, cmd := range root.Commands() {
		verbs = append(verbs, cmd.Name())
		if s.Verb == "" || s.Verb == cmd.Name() {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if settable(f) {
					flags = append(flags, f.Name)
				}
			})
		}
		if s.Verb == cmd.Name() || s.Verb == "" {
			if f := cmd.Flags().Lookup(s.Flag); f != nil && settable(f) {
				return nil
			}
		}
	}
	switch {
	case s.Verb == "":
		return fmt.Errorf("%s: no command has a flag %s%s", s.From, s.Flag, words.DidYouMean(s.Flag, flags))
	case len(flags) == 0:
		return fmt.Errorf("%s: there is no command %s with flags%s", s.From, s.Verb,
			words.DidYouMean(s.Verb, verbs))
	}
	return fmt.Errorf("%s: %s has no flag %s%s", s.From, s.Verb, s.Flag, words.DidYouMean(s.Flag, flags))
}

// defaultsOf are the defaults that count for a verb.
func defaultsOf(cmd *cobra.Command, list []settings.Setting) (out []inEffect) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !settable(f) {
			return
		}
		name := variable(cmd.Name(), f.Name)
		if v := os.Getenv(name); v != "" {
			out = append(out, inEffect{cmd.Name(), f.Name, []string{v}, "$" + name})
			return
		}
		// In a file what is said of the verb comes before what is said of all, in whatever order.
		var best *settings.Setting
		for i := range list {
			s := &list[i]
			if s.Flag == f.Name && (s.Verb == cmd.Name() || s.Verb == "") &&
				(best == nil || best.Verb == "" && s.Verb != "" && file(best.From) == file(s.From)) {
				best = s
			}
		}
		if best != nil {
			out = append(out, inEffect{cmd.Name(), f.Name, best.Values, best.From})
		}
	})
	return out
}

// file is the file of FILE:LINE.
func file(from string) string { return from[:strings.LastIndex(from, ":")] }

// applyDefaults gives the flags of a verb that are not on the command line their defaults.
func applyDefaults(cmd *cobra.Command) error {
	if !cmd.HasParent() || cmd.Parent() != cmd.Root() || !cmd.HasAvailableLocalFlags() ||
		cmd.DisableFlagParsing || cmd.Name() == "config" {
		return nil
	}
	list, err := readDefaults(cmd.Root())
	if err != nil {
		return err
	}
	for _, d := range defaultsOf(cmd, list) {
		if cmd.Flags().Changed(d.Flag) {
			continue
		}
		for _, v := range d.Values {
			if err := cmd.Flags().Set(d.Flag, v); err != nil {
				return console.Misuse("%s: %s: %w", d.From, d.Flag, flagError(err))
			}
		}
	}
	return nil
}

func configCommand(std console.IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config [flags] [VERB]",
		Short: "Show your default flags, and where each comes from",
		Long: `Show for which flags you have set a default, for all verbs or for one, and where it comes from.
Put defaults into whyslow.toml, in the current folder or above it in the same git repository, or in
~/.config/whyslow ($XDG_CONFIG_HOME):

  lang = "ru"                  # of every verb that has --lang

  [run]
  workers = 2
  set = ["logger_module.format=csv"]

Variables come before files: WHYSLOW_RUN_WORKERS=2. The command line comes before both.
` + exitCodes(console.Failed, console.BadUsage),
		Example: `  whyslow config
  whyslow config --json run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readDefaults(cmd.Root())
			if err != nil {
				return err
			}
			all := []inEffect{}
			seen := false
			var verbs []string
			for _, c := range cmd.Root().Commands() {
				verbs = append(verbs, c.Name())
				if len(args) == 0 || args[0] == c.Name() {
					seen = true
					all = append(all, defaultsOf(c, list)...)
				}
			}
			if !seen {
				return console.Misuse("config: there is no command %q%s", args[0], words.DidYouMean(args[0], verbs))
			}
			if asJSON {
				return badInput(writeJSON(std.Out, all))
			}
			if len(all) == 0 {
				fmt.Fprintf(std.Out, "You have set no defaults. Looked for %s\n", strings.Join(settings.Files(), ", "))
			}
			for _, d := range all {
				fmt.Fprintf(std.Out, "%-12s --%s=%s  (%s)\n", d.Verb, d.Flag,
					strings.Join(d.Values, " --"+d.Flag+"="), d.From)
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (
			list []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					list = append(list, c.Name())
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
