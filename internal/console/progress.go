package console

import (
	"fmt"
	"sync"
	"time"
)

// Progress is a line on a terminal. It appears when something takes longer than a second, until the end.
type Progress struct {
	IO    IO
	start time.Time
	mu    sync.Mutex
	text  string
	shown bool
	stop  chan struct{}
	done  sync.WaitGroup
}

// StartProgress begins a line, empty until Set is called.
func StartProgress(io IO) *Progress {
	p := &Progress{IO: io, start: time.Now(), stop: make(chan struct{})}
	if !io.ErrTerm {
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

// Set replaces the text of the line.
func (p *Progress) Set(format string, args ...any) {
	if !p.IO.ErrTerm {
		return // it is called often
	}
	p.mu.Lock()
	p.text = fmt.Sprintf(format, args...)
	p.mu.Unlock()
}

func (p *Progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := time.Since(p.start); p.text != "" && since > time.Second {
		fmt.Fprintf(p.IO.Err, "\r\x1b[K%s (%.0f s)", p.text, since.Seconds())
		p.shown = true
	}
}

// End removes the line.
func (p *Progress) End() {
	close(p.stop)
	p.done.Wait()
	if p.shown {
		fmt.Fprint(p.IO.Err, "\r\x1b[K")
	}
}
