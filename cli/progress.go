package cli

import (
	"fmt"
	"sync"
	"time"
)

// progress is one line on a terminal that appears when something takes longer than a second and is gone afterwards.
// On anything but a terminal it is silent.
type progress struct {
	io    stdio
	start time.Time
	mu    sync.Mutex
	text  string
	shown bool
	stop  chan struct{}
	done  sync.WaitGroup
}

func startProgress(io stdio) *progress {
	p := &progress{io: io, start: time.Now(), stop: make(chan struct{})}
	if !io.errTerm {
		return p
	}
	p.done.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.draw()
			}
		}
	})
	return p
}

func (p *progress) set(format string, args ...any) {
	if !p.io.errTerm {
		return // it is called often
	}
	p.mu.Lock()
	p.text = fmt.Sprintf(format, args...)
	p.mu.Unlock()
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := time.Since(p.start); p.text != "" && since > time.Second {
		fmt.Fprintf(p.io.err, "\r\x1b[K%s (%.0f s)", p.text, since.Seconds())
		p.shown = true
	}
}

// end removes the line.
func (p *progress) end() {
	close(p.stop)
	p.done.Wait()
	if p.shown {
		fmt.Fprint(p.io.err, "\r\x1b[K")
	}
}
