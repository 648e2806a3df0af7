//go:build cgo && linux

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/cpp"
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
	library *cpp.Library
	served  chan struct{} // closed when the editor knows everything
	output  func()        // brings out what the program has printed
}

// begin starts to debug a run that is about to begin; quit ends it.
func (o *debugOptions) begin(ctx context.Context, std console.IO, cfg *engine.Config, quit func()) (*debugging,
	error) {
	in, typed := std.In, false
	if o.file != nil {
		in = o.file
	} else if file, ok := in.(*os.File); ok {
		typed = term.IsTerminal(int(file.Fd()))
	}
	g := &debugging{library: cfg.Library, served: make(chan struct{}), output: func() {}}
	say := func(line string) { fmt.Fprintln(std.Err, line) }
	var server *editor.Server
	switch {
	case o.dap:
		say = func(line string) { server.Print("console", line+"\n") }
	case o.page:
		say = o.browser.Log
	}
	var err error
	g.d, err = debug.New(ctx, debug.Options{Program: cfg.Program, Session: cfg.Session, AtEntry: true, Log: say})
	if err != nil {
		return nil, badInput(err)
	}
	cfg.Gate, cfg.DescribeDFs = g.d, true
	if o.page {
		go func() {
			defer close(g.served)
			o.browser.Serve(g.d, quit)
		}()
		return g, nil
	}
	if !o.dap {
		go terminal.Serve(g.d, in, std.Err, typed, quit)
		close(g.served)
		return g, nil
	}
	out, printed, err := divert()
	if err != nil {
		return nil, badInput(err)
	}
	server = editor.New(g.d, std.In, out, quit)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer printed.Close()
		b := make([]byte, 1<<16)
		for n, err := 0, error(nil); err == nil; {
			if n, err = printed.Read(b); n > 0 {
				server.Print("stdout", string(b[:n]))
			}
		}
	}()
	g.output = func() {
		flush(g.library, time.Second)
		if unix.Dup3(int(out.Fd()), 1, 0) == nil { // then the pipe ends, unless a child of the program has it
			select {
			case <-read:
			case <-time.After(time.Second):
			}
		}
	}
	go func() {
		defer close(g.served)
		server.Serve()
	}()
	return g, nil
}

// divert has what is written to standard output come out of a pipe, and returns where standard output was.
func divert() (out, printed *os.File, err error) {
	was, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, err
	}
	printed, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	return os.NewFile(uintptr(was), "standard output"), printed, unix.Dup3(int(w.Fd()), 1, 0)
}

// end tells what run.json is to have about what was done to the run. Who waits for a typed command is left alone.
func (g *debugging) end() map[string]string {
	g.output()
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
