package cli

import (
	"context"

	"github.com/whyslow/whyslow/internal/live"
)

// liveOptions say whether and where a run is shown while it goes on.
type liveOptions struct {
	on   bool
	page pageOptions
}

// livePage shows the run that goes on in this process.
type livePage struct {
	page *page
	runs *live.Set
	over chan struct{} // closed once the trace is whole
}

// startLive shows the trace that is being written to a folder.
func startLive(io stdio, o *liveOptions, dir string) (*livePage, error) {
	p := &livePage{runs: live.NewSet(), over: make(chan struct{})}
	alive := func() (bool, bool) {
		select {
		case <-p.over:
			return false, true
		default:
			return true, true
		}
	}
	if _, err := p.runs.Add(dir, live.Options{Memory: o.page.memoryBytes, Alive: alive}); err != nil {
		p.runs.Close()
		return nil, badInput(err)
	}
	var err error
	if p.page, err = o.page.serve(io, p.runs, nil); err != nil {
		p.runs.Close()
		return nil, err
	}
	io.say("live at %s", p.page.url)
	p.page.browse(&o.page)
	return p, nil
}

// ended tells the page that the trace is whole.
func (p *livePage) ended() { close(p.over) }

// stay keeps the page after the run: until Ctrl+C.
func (p *livePage) stay(ctx context.Context, io stdio) {
	if ctx.Err() == nil {
		io.say("the run is over; the page stays at %s until Ctrl+C", p.page.url)
		_ = p.page.until(ctx) // a page that cannot be served any more is no failure of the run
	}
}

// close ends the page.
func (p *livePage) close() {
	p.page.stop()
	p.runs.Close()
}
