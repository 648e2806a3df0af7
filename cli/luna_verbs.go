package cli

import (
	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
)

func lunaCommand(io console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "luna [option]... FILE [argument]...",
		Short: "LuNA's own command: same options, output and exit codes",
		Long: `Compile and run a program as LuNA's own command does. whyslow is this command when it is called luna;
a link of that name is enough.
'whyslow luna --help' lists its options.

Exit codes:
  0  success
  1  any failure`,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return asExit(runLuna(args, io)) },
	}
}

func rtsCommand(io console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "rts [option]... LIB.so [argument]...",
		Short: "Run a library made by 'luna -c'",
		Long: `Run a library made by 'luna -c', as LuNA's launcher does. whyslow is this command when it is called
rts.

Exit codes:
  0  success
  n  the program's own; 128 + signal if it died of one`,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return asExit(runRTS(args, io)) },
	}
}

func asExit(code int) error {
	if code == console.Done {
		return nil
	}
	return console.Exit(code, nil)
}
