package cli

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/licences"
	"github.com/whyslow/whyslow/web"
)

func licencesCommand(io console.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "licences",
		Aliases: []string{"licenses"},
		Short:   "Print the licences of everything this program contains",
		Long: `Print the licences of everything this program contains: libraries that are linked, and packages
in the page. whyslow itself has the Apache License 2.0.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			page, err := fs.ReadFile(web.Files(), "licenses.md")
			if err != nil {
				return err
			}
			_, packages, _ := strings.Cut(string(page), "\n## ")
			fmt.Fprintf(io.Out, "whyslow has the Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0\n\n"+
				"# Linked\n\n%s\n# In the page\n\n## %s", licences.Go, packages)
			return nil
		},
	}
}
