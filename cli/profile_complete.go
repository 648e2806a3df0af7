package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// complete lets shells complete the values of the flags: names in lists, behind commas and signs too.
func (o *profileOptions) complete(cmd *cobra.Command) {
	for flag, candidates := range map[string]func(args []string, word string) []string{
		"events":  func(_ []string, word string) []string { return behindList(word, eventNames()) },
		"modules": func(_ []string, word string) []string { return behindList(word, moduleNames()) },
		"set":     func(_ []string, word string) []string { return settingWords(word) },
		"preset":  func([]string, string) []string { return config.PresetNames() },
		"group":   func(args []string, _ string) []string { return o.groups(args) },
	} {
		err := cmd.RegisterFlagCompletionFunc(flag,
			func(_ *cobra.Command, args []string, word string) (list []string, _ cobra.ShellCompDirective) {
				for _, c := range candidates(args, word) {
					if strings.HasPrefix(c, word) {
						list = append(list, c)
					}
				}
				return list, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveNoSpace
			})
		if err != nil {
			panic(err) // the flag was added before
		}
	}
}

// behindList puts what is there of a list, and the sign of its last name, before each name.
func behindList(word string, names []string) []string {
	before := word[:strings.LastIndexByte(word, ',')+1]
	if last := word[len(before):]; strings.HasPrefix(last, "+") || strings.HasPrefix(last, "-") {
		before += last[:1]
	}
	for i := range names {
		names[i] = before + names[i]
	}
	return names
}

func eventNames() (names []string) {
	for _, k := range trace.Kinds() {
		names = append(names, k.String()+"\t"+k.Doc)
	}
	return names
}

func moduleNames() (names []string) {
	for _, m := range prof.Modules() {
		names = append(names, m.Name+"\t"+m.Doc)
	}
	return names
}

// settings are the parameters of all modules, behind a "=" the values that one can have.
func settingWords(word string) (list []string) {
	given, _, valued := strings.Cut(word, "=")
	for _, m := range prof.Modules() {
		for _, p := range m.Params {
			name := m.Name + "." + p.Name
			if !valued {
				list = append(list, name+"=\t"+p.Doc)
				continue
			}
			choices := p.Choices
			if _, ok := p.Default.(bool); ok {
				choices = []string{"true", "false"}
			}
			for _, c := range choices {
				if name == given {
					list = append(list, name+"="+c)
				}
			}
		}
	}
	return list
}

// groups are those of the configuration of the program, if that is given before, or of the current folder.
func (o *profileOptions) groups(args []string) (list []string) {
	dir, _ := folderOf(args) // there may be no program of that name yet
	flags := o.flags
	flags.Groups, flags.Modules, flags.Sets = nil, nil, nil // half of them may not be written yet
	plan, err := (&profileOptions{flags: flags}).plan(dir)
	if err != nil {
		return nil
	}
	for _, g := range plan.Groups() {
		list = append(list, g+"=on", g+"=off")
	}
	return list
}

// folderOf is the folder that is given, or that of the program that is, or the current one.
func folderOf(args []string) (string, error) {
	if len(args) == 0 {
		return ".", nil
	}
	info, err := os.Stat(args[0])
	if err == nil && info.IsDir() {
		return args[0], nil
	}
	return filepath.Dir(args[0]), err
}
