package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/gotrace"
	"github.com/whyslow/whyslow/internal/convert/foreign/lunatext"
	"github.com/whyslow/whyslow/internal/convert/foreign/otf2"
	"github.com/whyslow/whyslow/internal/convert/foreign/perfetto"
	"github.com/whyslow/whyslow/internal/convert/foreign/starpu"
	"github.com/whyslow/whyslow/internal/convert/foreign/traceevents"
	"github.com/whyslow/whyslow/internal/files/archives"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// foreignFormats are what is read beside traces of our own.
var foreignFormats = []foreign.Format{gotrace.Format, otf2.Format, traceevents.Format,
	perfetto.Format, starpu.Format, lunatext.Format}

func importCommand(std console.IO) *cobra.Command {
	var list strings.Builder
	for _, f := range foreignFormats {
		fmt.Fprintf(&list, "  %-8s  %s\n", f.Name, words.Imported[f.Name].About.In(words.English))
	}
	out := ""
	cmd := &cobra.Command{
		Use:   "import [-o TRACE] FILE|FOLDER",
		Short: "Turn another program's recording into a trace",
		Long: `Turn another program's recording into a trace:

` + list.String() + `
The format is recognised by the content of the file. report, view and the other verbs that read
traces also accept such files and import them on the fly. If a program writes several files, name
their folder. The report says what a format does not record.
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

// recorded is what another program has recorded: a file, perhaps with others beside it.
type recorded struct {
	foreign.Format
	given, file string // as it was asked for, and the file with which reading begins
	folder      fs.FS  // nil: a file alone
}

// foreignFormat gives what another program has recorded as a file, or as a folder of files.
func foreignFormat(name string) (r recorded, ok bool) {
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return r, false
	case st.IsDir():
		r = recorded{given: name, folder: os.DirFS(name)}
		if _, err := fs.Stat(r.folder, tracefile.RunFile); err == nil { // a trace of ours
			return r, false
		}
		r.Format, r.file, ok = foreign.Main(foreignFormats, r.folder)
		r.file = filepath.Join(name, r.file)
		return r, ok
	case !st.Mode().IsRegular():
		return r, false
	}
	f, err := os.Open(name)
	if err != nil {
		return r, false
	}
	defer f.Close()
	r = recorded{given: name, file: name}
	r.Format, ok = foreign.Find(foreignFormats, bufio.NewReaderSize(f, foreign.HeadBytes))
	return r, ok
}

// base is what a trace of it is called after.
func (r *recorded) base() string {
	base := filepath.Base(filepath.Clean(r.given))
	if abs, err := filepath.Abs(r.file); err == nil && r.Open != nil { // one of several files
		return filepath.Base(filepath.Dir(abs))
	}
	if r.folder == nil {
		base = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return base
}

// beside lists the files of the format in the folder, but for the one with which reading begins.
func (r *recorded) beside() (list []fs.FileInfo) {
	if r.folder == nil {
		return nil
	}
	for _, pattern := range r.Files {
		names, _ := fs.Glob(r.folder, pattern) // well-formed
		for _, name := range names {
			if st, err := fs.Stat(r.folder, name); err == nil && name != filepath.Base(r.file) {
				list = append(list, st)
			}
		}
	}
	return list
}

// state tells apart what was recorded into the same files, but for the one with which reading begins.
func (r *recorded) state() string {
	var b strings.Builder
	for _, st := range r.beside() {
		fmt.Fprintf(&b, " %q %d %d", st.Name(), st.Size(), st.ModTime().UnixNano())
	}
	return b.String()
}

// counted tells how much more is read of the files of a folder.
type counted struct {
	fs.FS
	told func(n int64)
}

// Open implements fs.FS.
func (c counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return f, nil // it is listed, not read
	}
	return countedFile{f, c.told}, nil
}

type countedFile struct {
	fs.File
	told func(n int64)
}

// Read implements fs.File.
func (f countedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.told(int64(n))
	return n, err
}

func importFile(ctx context.Context, std console.IO, name, out string) error {
	if _, err := os.Stat(name); err != nil {
		return badInput(err)
	}
	r, ok := foreignFormat(name)
	if !ok {
		return badInput(fmt.Errorf("%s: not a trace of another program that whyslow reads: see 'whyslow import"+
			" --help'", name))
	}
	if out == "" {
		out = r.base() + ".trace"
	}
	if _, err := os.Lstat(out); err == nil {
		return badInput(fmt.Errorf("%s: it already exists; give another folder with -o", out))
	}
	f, err := os.Open(r.file)
	if err != nil {
		return badInput(err)
	}
	defer f.Close()
	damaged, err := importInto(ctx, std, &r, f, out)
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
func importInto(ctx context.Context, std console.IO, r *recorded, f *os.File, dir string) (
	damaged *foreign.Error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	line := console.StartProgress(std)
	defer line.End()
	total := st.Size()
	for _, beside := range r.beside() {
		total += beside.Size()
	}
	var done atomic.Int64
	read := func(n int64) {
		line.Set("importing %s: %d %%", r.given, min(100*done.Add(n)/max(total, 1), 100))
	}
	in := &foreign.Counter{Reader: f, Told: read}
	folder := r.folder
	if folder != nil {
		folder = counted{folder, read}
	}
	info := trace.RunInfo{Program: filepath.Base(r.given),
		Versions: map[string]string{"whyslow": readVersion().Version}}
	if r.Open != nil {
		opened, err := r.Open(ctx, r.file)
		if err != nil {
			return nil, err
		}
		defer func() {
			if closed := opened.Close(); closed != nil && damaged != nil {
				damaged.Msg = closed.Error()
			} else if closed != nil {
				err = errors.Join(closed, os.RemoveAll(dir))
			}
		}()
		info.Program = r.base()
		in.Reader, in.Told = opened, func(n int64) {
			line.Set("importing %s: %s", r.given, words.English.Bytes(done.Add(n)))
		}
	}
	made, err := foreign.Import(ctx, r.Format, in, folder, dir, info)
	if errors.As(err, &damaged) && made && ctx.Err() == nil {
		return damaged, nil
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return nil, err
}

// importedAs tells apart ways to import: a new one makes a new trace of a file that was imported before.
const importedAs = " imported 6"

// importOnce gives a trace made of a file or folder, in the user's cache.
func importOnce(ctx context.Context, std console.IO, r *recorded) (string, error) {
	return archives.Made(r.file, importedAs+r.state(), r.base(), func(f *os.File, dir string) error {
		damaged, err := importInto(ctx, std, r, f, dir)
		if damaged != nil {
			std.Say("warning: %s: %v; what is before that is used", r.given, damaged)
		}
		return err
	})
}
