package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/gotrace"
	"github.com/whyslow/whyslow/internal/convert/foreign/traceevents"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// foreignFormats are what is read beside traces of our own.
var foreignFormats = []foreign.Format{gotrace.Format, traceevents.Format}

func importCommand(std console.IO) *cobra.Command {
	var list strings.Builder
	for _, f := range foreignFormats {
		fmt.Fprintf(&list, "  %-8s  %s\n", f.Name, words.Imported[f.Name].About.In(words.English))
	}
	out := ""
	cmd := &cobra.Command{
		Use:   "import [-o TRACE] FILE",
		Short: "Make a trace of a file that another program has recorded",
		Long: `Make a trace of a file that another program has recorded:

` + list.String() + `
The format is found out from what is in the file. report, view and the other verbs that read traces take
such files too, and import them for themselves. What a format does not tell is said in the report.
` + exitCodes(1, 2, 4),
		Example: `  go test -trace server.out ./server && whyslow report server.out
  whyslow import -o server.trace server.out`,
		Args: oneArg("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFile(cmd.Context(), std, args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`folder` for the trace; must not be there (default: the"+
		" name of FILE with .trace, in the current folder)")
	return cmd
}

// foreignFormat gives the format of a file that another program has recorded.
func foreignFormat(name string) (foreign.Format, bool) {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return foreign.Format{}, false
	}
	f, err := os.Open(name)
	if err != nil {
		return foreign.Format{}, false
	}
	defer f.Close()
	return foreign.Find(foreignFormats, bufio.NewReaderSize(f, foreign.HeadBytes))
}

func importFile(ctx context.Context, std console.IO, name, out string) error {
	if _, err := os.Stat(name); err != nil {
		return badInput(err)
	}
	format, ok := foreignFormat(name)
	if !ok {
		return badInput(fmt.Errorf("%s: not a trace of another program that whyslow reads: see 'whyslow import"+
			" --help'", name))
	}
	if out == "" {
		base := filepath.Base(name)
		out = strings.TrimSuffix(base, filepath.Ext(base)) + ".trace"
	}
	if _, err := os.Lstat(out); err == nil {
		return badInput(fmt.Errorf("%s: it exists already; give another folder with -o", out))
	}
	f, err := os.Open(name)
	if err != nil {
		return badInput(err)
	}
	defer f.Close()
	damaged, err := importInto(ctx, std, format, f, name, out)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", name, err))
	}
	std.Say("%s", out)
	if damaged != nil {
		return console.Exit(console.Damaged, fmt.Errorf("%s: %w; what was read before that is in the trace", name,
			damaged))
	}
	return nil
}

// importInto makes a trace of an open file in a folder. Of a file that is damaged the trace has what is
// before that. Other errors leave nothing.
func importInto(ctx context.Context, std console.IO, format foreign.Format, f *os.File, name, dir string) (
	damaged *foreign.Error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	line := console.StartProgress(std)
	defer line.End()
	in := &foreign.Counter{Reader: f, Told: func(n int64) {
		line.Set("importing %s: %d %%", name, 100*n/max(st.Size(), 1))
	}}
	info := trace.RunInfo{Program: filepath.Base(name),
		Versions: map[string]string{"whyslow": readVersion().Version}}
	made, err := foreign.Import(ctx, format, in, dir, info)
	if errors.As(err, &damaged) && made && ctx.Err() == nil {
		return damaged, nil
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return nil, err
}

// importedAs tells apart ways to import: a new one makes a new trace of a file that was imported before.
const importedAs = " imported 1"

// importOnce gives a trace made of a file, in the user's cache.
func importOnce(ctx context.Context, std console.IO, format foreign.Format, name string) (string, error) {
	base := filepath.Base(name)
	return files.Made(name, importedAs, strings.TrimSuffix(base, filepath.Ext(base)), func(f *os.File,
		dir string) error {
		damaged, err := importInto(ctx, std, format, f, name, dir)
		if damaged != nil {
			std.Say("warning: %s: %v; what is before that is used", name, damaged)
		}
		return err
	})
}
