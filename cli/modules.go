package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/prof/config"
	"github.com/whyslow/whyslow/sdk"
)

type modulesOptions struct {
	profile profileOptions
	json    bool
	header  string
}

func modulesCommand(io stdio) *cobra.Command {
	var o modulesOptions
	cmd := &cobra.Command{
		Use:   "modules [flags] [PROGRAM.fa or FOLDER]",
		Short: "List the profiling modules and which of them run",
		Long: `List the modules there are, compiled in or in shared libraries that the configuration names: what each does, writes and costs, the
events it listens to and emits, its parameters, what it requires, and whether it runs with this configuration and why.
The configuration is that of the program, or of the folder (default: the current one), with the flags of whyslow run.
` + exitCodesHelp,
		Example: `  whyslow modules
  whyslow modules --modules=logger_module --set logger_module.format=csv prog.fa
  whyslow modules --json | jq '.[] | select(.on).name'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch o.header {
			case "":
			case "c":
				return writeText(io, sdk.ModuleHeader)
			case "c++":
				return writeText(io, sdk.ModuleHeaderCPP)
			default:
				return badCommandLine("modules: --header=%s: say c or c++", o.header)
			}
			dir := "."
			if len(args) > 0 {
				info, err := os.Stat(args[0])
				if err != nil {
					return badInput(err)
				}
				if dir = args[0]; !info.IsDir() {
					dir = filepath.Dir(args[0])
				}
			}
			plan, err := o.profile.load("modules", dir)
			if err != nil {
				return err
			}
			warnPlan(io, plan)
			if o.json {
				return writeJSON(io.out, describeModules(plan))
			}
			for i, m := range describeModules(plan) {
				if i > 0 {
					fmt.Fprintln(io.out)
				}
				m.print(io)
			}
			return nil
		},
	}
	o.profile.addTo(cmd)
	cmd.Flags().StringVar(&o.header, "header", "", "print a header for modules in shared libraries: `c` (whyslow_module.h) or c++ (whyslow_module.hpp, which needs the other)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func writeText(io stdio, text string) error {
	_, err := fmt.Fprint(io.out, text)
	return badInput(err)
}

// moduleDescription is what users are told about a module.
type moduleDescription struct {
	Name     string             `json:"name"`
	On       bool               `json:"on"`
	Why      string             `json:"why"`
	Place    string             `json:"place,omitempty"` // file:line:col or flag that decided
	Aliases  []string           `json:"aliases,omitempty"`
	Doc      string             `json:"doc,omitempty"`
	Output   string             `json:"output,omitempty"`
	Cost     string             `json:"cost,omitempty"`
	Events   []string           `json:"events,omitempty"`
	Emits    []string           `json:"emits,omitempty"`
	Requires []string           `json:"requires,omitempty"`
	Priority int                `json:"priority"`
	Params   []paramDescription `json:"params,omitempty"`
}

type paramDescription struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Value   any      `json:"value"`
	Default any      `json:"default"`
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`
}

func describeModules(plan *config.Plan) []moduleDescription {
	var list []moduleDescription
	for _, m := range plan.Modules {
		d := moduleDescription{
			Name: m.Name, On: m.On, Why: m.Why, Place: m.Pos.String(), Aliases: m.Info.Aliases, Doc: m.Info.Doc, Output: m.Info.Output, Cost: m.Info.Cost,
			Events: m.Info.Events, Emits: m.Info.Emits, Requires: m.Info.Requires, Priority: m.Priority,
		}
		for _, p := range m.Info.Params {
			value, set := m.Params[p.Name]
			if !set {
				value = p.Default
			}
			d.Params = append(d.Params, paramDescription{p.Name, typeName(p), value, p.Default, p.Choices, p.Doc})
		}
		list = append(list, d)
	}
	slices.SortStableFunc(list, func(a, b moduleDescription) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func typeName(p prof.Param) string {
	switch p.Default.(type) {
	case int, float64:
		return "number"
	case bool:
		return "bool"
	case []string:
		return "list"
	}
	return "string"
}

func (m *moduleDescription) print(io stdio) {
	state := "off"
	if m.On {
		state = "on"
	}
	if io.outColor() {
		state = map[bool]string{true: "\x1b[32mon\x1b[0m", false: "\x1b[2moff\x1b[0m"}[m.On]
	}
	fmt.Fprintf(io.out, "%s: %s, %s", m.Name, state, m.Why)
	if m.Place != "" {
		fmt.Fprintf(io.out, " (%s)", m.Place)
	}
	fmt.Fprintln(io.out)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(io.out, "  %-9s %s\n", what, text)
		}
	}
	line("", m.Doc)
	line("writes", m.Output)
	line("costs", m.Cost)
	line("events", strings.Join(m.Events, " "))
	line("emits", strings.Join(m.Emits, " "))
	line("requires", strings.Join(m.Requires, " "))
	line("also", strings.Join(m.Aliases, " "))
	if m.On {
		line("priority", fmt.Sprint(m.Priority))
	}
	for i, p := range m.Params {
		what := ""
		if i == 0 {
			what = "params"
		}
		doc := p.Doc
		if len(p.Choices) > 0 {
			doc += " (" + strings.Join(p.Choices, ", ") + ")"
		}
		line(what, fmt.Sprintf("%-24s %s", fmt.Sprintf("%s=%v", p.Name, p.Value), doc))
	}
}
