package cli

import (
	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/report"
)

func schemaCommand(io console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of report --json",
		Long: `Print the JSON Schema (draft 2020-12) of what 'whyslow report --json' writes. Every member has a
description. The version of the schema is schema_version in each report: it changes when a member goes away or
changes its meaning, not when one is added.`,
		Example: `  whyslow schema > report.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.Out.Write(report.Schema)
			return err
		},
	}
}
