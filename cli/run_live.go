package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
)

// liveOptions say whether and where a run is shown while it goes on.
type liveOptions struct {
	on   bool
	page pageOptions
}

// pageFlags are the flags of a run that say how its page is served.
var pageFlags = []string{"listen", "no-browser", "token", "insecure", "tls-cert", "tls-key"}

func (o *liveOptions) addTo(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "live", false, "show the run in the browser as it executes, and then until Ctrl+C")
	o.page.addTo(f, "127.0.0.1:0")
	o.page.addBrowser(f)
}

// check finds what is wrong with the flags.
func (o *liveOptions) check(verb string, f *pflag.FlagSet) error {
	if !o.on {
		return without(verb, f, "live", pageFlags...)
	}
	return o.page.check(verb, f)
}

// without finds a flag that was given and makes no sense without another, which was not.
func without(verb string, f *pflag.FlagSet, needed string, flags ...string) error {
	for _, flag := range flags {
		if f.Changed(flag) {
			return console.Misuse("%s: --%s makes no sense without --%s", verb, flag, needed)
		}
	}
	return nil
}

// livePage shows the run that goes on in this process.
type livePage struct {
	page *page
	opt  *pageOptions
	runs *live.Set
	over chan struct{} // closed once the trace is whole
}

// startLive shows the trace that is being written to a folder. The debugger is nil where there is none.
func startLive(io console.IO, o *liveOptions, dir string, d api.Debugger) (*livePage, error) {
	p := &livePage{opt: &o.page, runs: live.NewSet(), over: make(chan struct{})}
	alive := func() (bool, bool) {
		select {
		case <-p.over:
			return false, true
		default:
			return true, true
		}
	}
	if _, err := p.runs.Add(dir, live.Options{Memory: o.page.ofRun(), Spill: true, Alive: alive}); err != nil {
		p.runs.Close()
		return nil, badInput(err)
	}
	var err error
	if p.page, err = o.page.serve(io, api.Config{Runs: p.runs, Debugger: d}); err != nil {
		p.runs.Close()
		return nil, err
	}
	io.Say("live at %s", p.page.url)
	p.page.browse(&o.page)
	return p, nil
}

// Ended tells the page that the trace is whole.
func (p *livePage) Ended() { close(p.over) }

// stay keeps the page after the run: until Ctrl+C.
func (p *livePage) stay(ctx context.Context, io console.IO) {
	if ctx.Err() == nil {
		p.runs.Limit(p.opt.memory.Budget) // not before: the memory of the program is its own
		io.Say("the run is over; the page stays at %s until Ctrl+C", p.page.url)
		_ = p.page.until(ctx) // a page that cannot be served any more is no failure of the run
	}
}

// close ends the page.
func (p *livePage) close() {
	p.page.stop()
	p.runs.Close()
}
