package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/words"
)

// What --help shows: flags by what they are about where there are many, in lines that fit, and the exit codes
// that the verb can end with.

// exitCodes are the lines about exit codes of a verb that can end with these, beside 0 and 130.
func exitCodes(codes ...int) string {
	text := map[int]string{
		console.Done:        "done",
		console.Failed:      "standard output cannot be written",
		console.BadUsage:    "usage or bad input",
		console.Stuck:       "the program cannot finish: CFs are left waiting",
		console.Damaged:     "a trace is damaged or ends early (what could be read was used)",
		console.Condition:   "a condition of --fail-if holds",
		console.Interrupted: "interrupted",
	}
	if slices.Contains(codes, console.Stuck) { // it runs programs
		text[console.Failed] = "the program under test failed, or standard output cannot be written"
	}
	var b strings.Builder
	b.WriteString("\nExit codes:")
	for _, code := range slices.Concat([]int{console.Done}, codes, []int{console.Interrupted}) {
		fmt.Fprintf(&b, "\n  %-4d %s", code, text[code])
	}
	return b.String()
}

// Flags of a verb that has more than fewFlags are shown by group.
const fewFlags = 12

// flagGroups are the groups, in order. What is in none is about the verb itself.
var flagGroups = []struct{ title, flags string }{
	{"Machine", "nodes workers link-latency link-bandwidth bind no-steal balance place priority hold" +
		" stuck-after" +
		" machine cores speed cost no-latency no-overhead"},
	{"Program", "define cpp-dir cpp-source optimize no-waits build-verbose"},
	{"Output", "quiet by full all json html csv lang inputs rule window windows width memory fail-if since" +
		" until iteration"},
	{"Trace", "output no-trace local-dir thread-clock clock-sync clock-precision clock-drift trace-buffer" +
		" trace-pool trace-level trace-sync trace-full trace-flush"},
	{"Events and modules", "events group preset modules set explain-config"},
	{"Page", "live listen no-browser token tls-cert tls-key insecure"},
	{"Sending", "to to-tls to-ca to-token to-wait"},
}

// flagGroup are flags that --help and the manual show together.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupFlags divides the flags of a verb. The first group is those about the verb itself, or all, if there
// are few. Groups may be empty.
func groupFlags(f *pflag.FlagSet) []flagGroup {
	count := 0
	f.VisitAll(func(x *pflag.Flag) {
		if !x.Hidden {
			count++
		}
	})
	if count <= fewFlags {
		return []flagGroup{{"Flags", f}}
	}
	groups := []flagGroup{{"Flags", pflag.NewFlagSet("", pflag.ContinueOnError)}}
	for _, g := range flagGroups {
		groups = append(groups, flagGroup{g.title, pflag.NewFlagSet("", pflag.ContinueOnError)})
	}
	f.VisitAll(func(x *pflag.Flag) {
		i := slices.IndexFunc(flagGroups, func(g struct{ title, flags string }) bool {
			return slices.Contains(strings.Fields(g.flags), x.Name)
		})
		groups[i+1].flags.AddFlag(x)
	})
	return groups
}

// flagsHelp lists the flags of a verb in lines of so many columns.
func flagsHelp(f *pflag.FlagSet, columns int) string {
	var groups []string
	for i, g := range groupFlags(f) {
		if i == 0 || g.flags.HasFlags() {
			groups = append(groups, g.title+":\n"+
				strings.ReplaceAll(g.flags.FlagUsagesWrapped(columns), `[="-"]`, "      "))
		}
	}
	return strings.Join(groups, "\n")
}

// helpColumns is how wide help is.
func helpColumns() int {
	if c := width(os.Stdout, true); c > 0 {
		return min(max(c, 60), 100)
	}
	return 100
}

// reflow wraps paragraphs. Lines that begin with a blank, of examples and lists, keep their line.
func reflow(text string, columns int) string {
	var lines, paragraph []string
	flush := func() {
		lines = append(lines, words.Wrap(strings.Join(paragraph, " "), columns)...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			if !strings.HasSuffix(line, ":") {
				continue
			}
			flush()
			continue
		}
		flush()
		lines = append(lines, line)
	}
	flush()
	return strings.Join(lines, "\n")
}

// showHelp is the help of a verb.
func showHelp(cmd *cobra.Command, _ []string) {
	what := cmd.Long
	if what == "" {
		what = cmd.Short
	}
	// Standard output remembers that it could not be written.
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", reflow(strings.TrimSpace(what), helpColumns()))
	_ = cmd.Usage()
}

// showUsage is what follows the description of a verb in its help.
func showUsage(cmd *cobra.Command) error {
	columns := helpColumns()
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		groups := cmd.Groups()
		if len(groups) == 0 {
			groups = []*cobra.Group{{Title: "Commands"}}
		}
		for _, g := range groups {
			fmt.Fprintf(&b, "\n%s:\n", g.Title)
			for _, c := range cmd.Commands() {
				if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
					fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
				}
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n%s", flagsHelp(cmd.LocalFlags(), columns))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	_, err := cmd.OutOrStderr().Write([]byte(b.String()))
	return err
}
