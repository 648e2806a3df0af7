package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/prof"
)

// balancers are the modules that move work while the program runs, by what --balance calls them: the standard
// ones by short names.
func balancers() (names []string, module map[string]string) {
	short := map[string]string{modules.CentralName: "central", modules.DiffusionName: "diffusion"}
	module = map[string]string{}
	for _, m := range prof.Modules() {
		if _, ok := m.New().(prof.Balancer); !ok {
			continue
		}
		name := m.Name
		if s, ok := short[name]; ok {
			name = s
		}
		names = append(names, name)
		module[name], module[m.Name] = m.Name, m.Name
	}
	slices.Sort(names)
	return names, module
}

// checkBalance replaces what --balance says by the name of the module.
func (o *runOptions) checkBalance() error {
	if o.balance == "" {
		return nil
	}
	names, module := balancers()
	name, ok := module[o.balance]
	if !ok {
		return console.Misuse("run: --balance=%s: no module of that name balances; there are %s", o.balance,
			strings.Join(names, ", "))
	}
	o.balance = name
	return nil
}

// completeBalance lets shells complete the values of --balance.
func completeBalance(cmd *cobra.Command) {
	names, _ := balancers()
	err := cmd.RegisterFlagCompletionFunc("balance",
		cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was added before
	}
}
