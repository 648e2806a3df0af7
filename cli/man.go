package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
)

func manCommand(io console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages, one for every verb",
		Long: `Write the manual pages into a folder, one for every verb, from the texts that --help prints.
'make install' does this; after 'go install', these pages can be put where man looks for them.`,
		Example: `  whyslow man ~/.local/share/man/man1 && man whyslow-report`,
		Args:    oneArg("folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return badInput(err)
			}
			pages := append([]*cobra.Command{cmd.Root()}, cmd.Root().Commands()...)
			for i := 0; i < len(pages); i++ {
				c := pages[i]
				if i > 0 && !c.IsAvailableCommand() {
					continue
				}
				if i > 0 {
					pages = append(pages, c.Commands()...)
				}
				if err := files.ReplaceText(filepath.Join(args[0], manName(c)+".1"), manPage(c)); err != nil {
					return badInput(err)
				}
			}
			return nil
		},
	}
}

// manName is what man finds the page of a verb by: whyslow-report.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the help of a verb in roff, with the macros of man(7). It has no date, so the same source makes
// the same bytes.
func manPage(c *cobra.Command) []byte {
	c.InitDefaultHelpFlag()
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"whyslow %s\" \"whyslow\"\n", strings.ToUpper(manName(c)), release)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, long)
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roff(sub.Short))
			}
		}
	}
	b.WriteString(".SH OPTIONS\n")
	for i, g := range groupFlags(c.NonInheritedFlags()) {
		if i > 0 && g.flags.HasFlags() {
			fmt.Fprintf(&b, ".SS %s\n", g.title)
		}
		manFlags(&b, g.flags)
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(c.Parent())))
	}
	return b.Bytes()
}

// manFlags writes a paragraph for each flag.
func manFlags(b *bytes.Buffer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		// As in --help: the word in back quotes, or else the type, stands for the value.
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		switch {
		case value != "" && f.NoOptDefVal != "" && f.NoOptDefVal != "-": // - is a FILE that may come after a space
			name += `[=\fI` + roff(value) + `\fR]`
		case value != "":
			name += ` \fI` + roff(value) + `\fR`
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			fmt.Fprintf(b, "(default %s)\n", roff(f.DefValue))
		}
	})
}

// manText writes paragraphs; those with indented lines, which are lists and tables, keep their lines.
func manText(b *bytes.Buffer, text string) {
	for _, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") || strings.Contains(paragraph, "\n  ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
		} else {
			fmt.Fprintf(b, ".PP\n%s\n", roff(paragraph))
		}
	}
}

// roff keeps a text as it is: hyphens can be copied, and no line begins with a command.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
