package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/sdk"
)

type modulesOptions struct {
	profile profileOptions
	json    bool
	header  string
}

func modulesCommand(io console.IO) *cobra.Command {
	var o modulesOptions
	cmd := &cobra.Command{
		Use:   "modules [flags] [PROGRAM.fa or FOLDER]",
		Short: "List the profiling modules and which of them run",
		Long: `List the modules, compiled in or in shared libraries that the configuration names: what each does,
writes and costs, the events it listens to and emits, its parameters, what it requires, and whether
it runs with this configuration and why. The configuration is that of the program, or of the folder
(default: the current one), with the flags of whyslow run.
` + exitCodes(1, 2),
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
			case "program":
				return writeText(io, sdk.HeaderCPP)
			default:
				return checkChoice("modules", "header", o.header, "c", "c++", "program")
			}
			dir, err := folderOf(args)
			if err != nil {
				return badInput(err)
			}
			plan, err := o.profile.load("modules", dir)
			if err != nil {
				return err
			}
			warn(io, plan.Warnings) // of what has no effect
			if o.json {
				return writeJSON(io.Out, describeModules(plan))
			}
			var list []string
			for _, m := range describeModules(plan) {
				list = append(list, m.text(io.OutColor(), width(os.Stdout, io.OutTerm)))
			}
			list = append(list, presetList())
			return writeText(io, strings.Join(list, "\n"))
		},
	}
	o.profile.addTo(cmd)
	cmd.Flags().StringVar(&o.header, "header", "", "print a header for modules in shared libraries: `c`"+
		" (whyslow_module.h), or c++ (whyslow_module.hpp) or program (whyslow.hpp), which need the first")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

// presetList says what --preset may be.
func presetList() string {
	var b strings.Builder
	b.WriteString("Presets (--preset):\n")
	for _, p := range config.Presets {
		fmt.Fprintf(&b, "  %-9s %s\n", p.Name, p.Doc)
	}
	return b.String()
}

func writeText(io console.IO, text string) error {
	_, err := fmt.Fprint(io.Out, text)
	return badInput(err)
}

// moduleDescription describes a module to users.
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
			Name: m.Name, On: m.On, Why: m.Why, Place: m.Pos.String(), Aliases: m.Info.Aliases,
			Doc: m.Info.Doc, Output: m.Info.Output, Cost: m.Info.Cost,
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

// text is the description in lines of at most width columns; 0: of any length.
func (m *moduleDescription) text(color bool, width int) string {
	var b strings.Builder
	state := "off"
	if m.On {
		state = "on"
	}
	why := m.Why
	if m.Place != "" {
		why += " (" + m.Place + ")"
	}
	head := fold(m.Name+": "+state+", ", why, 4, width)
	if color {
		colored := map[bool]string{true: "\x1b[32mon\x1b[0m", false: "\x1b[2moff\x1b[0m"}[m.On]
		head = strings.Replace(head, ": "+state, ": "+colored, 1)
	}
	b.WriteString(head)
	line := func(what, content string) {
		if content != "" {
			b.WriteString(fold(fmt.Sprintf("  %-9s ", what), content, 12, width))
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
	const docColumn = 37 // of what parameters mean
	for i, p := range m.Params {
		what := ""
		if i == 0 {
			what = "params"
		}
		doc := p.Doc
		if len(p.Choices) > 0 {
			doc += " (" + strings.Join(p.Choices, ", ") + ")"
		}
		value := fmt.Sprintf("%s=%v", p.Name, p.Value)
		first, indent := fmt.Sprintf("  %-9s %-24s ", what, value), docColumn
		if width > 0 && (width < docColumn+30 || utf8.RuneCountInString(first) > docColumn) {
			b.WriteString(fold(fmt.Sprintf("  %-9s ", what), value, 16, width))
			first, indent = strings.Repeat(" ", 16), 16
		}
		b.WriteString(fold(first, doc, indent, width))
	}
	return b.String()
}

// fold writes text after first; further lines are indented. A width of 0 is none. Words are not broken.
func fold(first, content string, indent, width int) string {
	return strings.Join(words.Fold(first, strings.Repeat(" ", indent), content, width), "\n") + "\n"
}
