//go:build cgo && linux

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/debug/browser"
	"github.com/whyslow/whyslow/internal/run/debug/editor"
	"github.com/whyslow/whyslow/internal/run/debug/terminal"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/show/api"
)

// debugPage is what debugs from the page.
type debugPage struct{ *browser.Page }

// forPage gives what the page debugs with; nil where it does not.
func (o *debugOptions) forPage() api.Debugger {
	if o == nil || !o.page {
		return nil
	}
	o.browser.Page = browser.New()
	return o.browser.Page
}

// debugging is a run that is debugged.
type debugging struct {
	d       *debug.Debugger
	session *terminal.Session // nil: an editor debugs, or the page
	editor  *editor.Server    // nil: no editor debugs
	served  chan struct{}     // closed when nobody is to be told of stops any more
	output  func()            // brings out what the program has printed
}

// begin starts to debug a run that is about to begin; quit ends one of one process. Of many processes, that
// of node 0 alone speaks with people.
func (o *debugOptions) begin(ctx context.Context, voice *crew.Voice, cfg *engine.Config, program string,
	quit func()) (*debugging, error) {
	std := voice.IO
	g := &debugging{served: make(chan struct{}), output: func() {}}
	opt := debug.Options{Program: cfg.Program, Session: cfg.Session, Under: cfg.Gate, AtEntry: true}
	if cfg.Part != nil {
		opt.Node, opt.Nodes = cfg.Part.Node, cfg.Nodes
	}
	if opt.Node != 0 {
		close(g.served)
		if o.dap { // standard output is the editor's
			voice.Divert(func(*os.File) io.Writer { return os.Stderr })
		}
		var err error
		g.d, err = debug.New(ctx, opt)
		cfg.Gate, cfg.DescribeDFs = g.d, true
		return g, badInput(err)
	}
	var err error
	if opt.Saved, err = o.saved(program); err != nil {
		return nil, badInput(err)
	}
	say := func(line string) { fmt.Fprintln(std.Err, line) }
	switch {
	case o.dap:
		say = func(line string) { g.editor.Print("console", line+"\n") }
	case o.page:
		say = o.browser.Log
	}
	opt.Log = say
	if g.d, err = debug.New(ctx, opt); err != nil {
		return nil, badInput(err)
	}
	if opt.Nodes > 1 {
		quit = g.d.Quit
	}
	cfg.Gate, cfg.DescribeDFs = g.d, true
	if o.page {
		for _, line := range g.d.Restored() {
			o.browser.Log(line)
		}
		go func() {
			defer close(g.served)
			o.browser.Serve(g.d, quit)
		}()
		return g, nil
	}
	if !o.dap {
		g.session = &terminal.Session{Debugger: g.d, In: std.In, Out: std.Err, Quit: quit}
		if o.file != nil {
			g.session.In, g.session.File = o.file, o.commands
		} else if file, ok := std.In.(*os.File); ok {
			g.session.Prompt = term.IsTerminal(int(file.Fd()))
		}
		if o.gdb != "" {
			cf, commands, _ := strings.Cut(o.gdb, " ")
			g.session.Before = []string{"until " + cf, "gdb . " + commands}
		}
		go g.session.Serve()
		close(g.served)
		return g, nil
	}
	if opt.Nodes > 1 {
		voice.Divert(func(was *os.File) io.Writer {
			g.editor = editor.New(g.d, std.In, was, quit)
			return g.editor
		})
	} else if err := g.divert(std.In, quit); err != nil {
		return nil, badInput(err)
	}
	go func() {
		defer close(g.served)
		g.editor.Serve()
	}()
	return g, nil
}

// saved opens what was saved for the program of a file, nil for a session whose file of commands says
// everything.
func (o *debugOptions) saved(program string) (*debug.Saved, error) {
	if o.file != nil {
		return nil, nil
	}
	if o.fresh {
		s, err := debug.NewSaved(program)
		if err == nil {
			err = s.Forget()
		}
		return s, err
	}
	return debug.OpenSaved(program)
}

// wrong is what was wrong with a command of a file, nil for nothing.
func (g *debugging) wrong() error {
	if g == nil || g.session == nil {
		return nil
	}
	return badInput(g.session.Wrong())
}

// divert has an editor debug, over standard output as it is now. What is written there later, the editor shows.
func (g *debugging) divert(in io.Reader, quit func()) error {
	was, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	printed, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	g.editor = editor.New(g.d, in, os.NewFile(uintptr(was), "standard output"), quit)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer printed.Close()
		_, _ = io.Copy(g.editor, printed) // it ends with the pipe
	}()
	g.output = func() {
		if unix.Dup3(was, 1, 0) == nil { // then the pipe ends, unless a child of the program has it
			select {
			case <-read:
			case <-time.After(time.Second):
			}
		}
	}
	return unix.Dup3(int(w.Fd()), 1, 0)
}

// over tells an editor that the run is over, once it has all output.
func (g *debugging) over() {
	if g == nil || g.editor == nil {
		return
	}
	g.output()
	g.editor.Terminated()
}

// end tells what run.json is to have about what was done to the run. Who waits for a typed command is left
// alone.
func (g *debugging) end() map[string]string {
	g.d.End()
	<-g.served
	settings := map[string]string{}
	var spans []string
	for _, v := range g.d.StoppedTimes() {
		spans = append(spans, fmt.Sprintf("%d-%d", v.From, v.To))
	}
	if len(spans) > 0 {
		settings[model.StoppedSetting] = strings.Join(spans, " ")
	}
	if list := g.d.Changes(); len(list) > 0 {
		settings[model.ChangedSetting] = strings.Join(list, "\n")
	}
	return settings
}
