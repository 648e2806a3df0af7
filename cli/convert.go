package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/cube"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// format is a foreign format a trace can be converted to.
type format struct {
	name, extension, about string
	write                  func(context.Context, io.Writer, *model.Model) error
}

var formats = []format{
	{"cube", ".cubex", "metrics by call path and thread, for Cube 4, CubeLib and pyCubexR",
		toCube(func(w io.Writer, r *pattern.Result, m *model.Model) error {
			made := m.Info.Started
			if made.IsZero() {
				made = time.Unix(0, 0) // an archive cannot tell of earlier times
			}
			return cube.Write(w, r, m, made)
		})},
	{"cube3", ".cube", "the same as an XML document, for Cube 3", toCube(cube.Write3)},
}

func toCube(write func(io.Writer, *pattern.Result, *model.Model) error) func(context.Context, io.Writer,
	*model.Model) error {
	return func(ctx context.Context, w io.Writer, m *model.Model) error {
		r, err := pattern.Compute(ctx, m, pattern.Options{}, procs.Alone())
		if err != nil {
			return err
		}
		return write(w, r, m)
	}
}

type convertOptions struct{ to, out string }

func convertCommand(std console.IO) *cobra.Command {
	var o convertOptions
	var list strings.Builder
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
		fmt.Fprintf(&list, "  %-6s  %s (%s)\n", f.name, f.about, f.extension)
	}
	cmd := &cobra.Command{
		Use:   "convert --to FORMAT [-o FILE] TRACE",
		Short: "Write a trace, or what is found in it, in a format of other programs",
		Long: `Write a trace, or what is found in it, in a format of other programs:

` + list.String() + `
Without -o the file is TRACE with the extension of the format. A new file replaces an old one only
when it is complete.
` + exitCodesHelp,
		Example: `  whyslow convert --to cube is.trace
  whyslow convert --to cube3 -o - is.trace | xmllint --format -`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.to == "" {
				return console.Misuse("convert: --to is needed: one of %s", strings.Join(names, ", "))
			}
			for _, f := range formats {
				if f.name == o.to {
					return convertTrace(cmd.Context(), std, &o, f, args[0])
				}
			}
			return console.Misuse("convert: --to=%s: one of %s", o.to, strings.Join(names, ", "))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "`format`: "+strings.Join(names, " or "))
	f.StringVarP(&o.out, "output", "o", "", "`file` to write, - for standard output")
	if err := cmd.RegisterFlagCompletionFunc("to",
		cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was defined above
	}
	return cmd
}

func convertTrace(ctx context.Context, std console.IO, o *convertOptions, f format, path string) error {
	out := o.out
	if out == "" {
		out = strings.TrimSuffix(filepath.Clean(path), ".trace") + f.extension
	}
	line := console.StartProgress(std)
	m, problems, err := readWhole(ctx, path, line)
	if err == nil {
		line.Set("writing %s", out)
		if out == "-" {
			err = f.write(ctx, std.Out, m)
		} else {
			err = replaceFile(out, func(w io.Writer) error { return f.write(ctx, w, m) })
		}
		err = ofTrace(ctx, path, err)
	}
	line.End()
	if err != nil {
		return err
	}
	err = tellMissing(std, problems)
	if out != "-" {
		std.Say("%s", out)
	}
	return err
}

// readWhole reads a trace into a model; problems says what is missing or damaged. Its errors are for the
// user.
func readWhole(ctx context.Context, path string, line *console.Progress) (m *model.Model, problems []string,
	err error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, nil, badInput(err)
	}
	defer r.Close()
	line.Set("reading %s", path)
	m, err = model.Build(ctx, r, model.Options{Progress: func(done,
		total int64) {
		line.Set("reading %s: %d %%", path, 100*done/max(total, 1))
	}})
	return m, missing(r), ofTrace(ctx, path, err)
}

// ofTrace is what went wrong with a trace, for the user.
func ofTrace(ctx context.Context, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return console.Exit(console.Interrupted, errors.New("interrupted"))
	}
	return badInput(fmt.Errorf("%s: %w", path, err))
}

// replaceFile writes a file beside its name and moves it there when it is complete.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what went wrong before is told
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
