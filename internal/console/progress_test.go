package console

import (
	"strings"
	"testing"
	"time"
)

// The line appears after a second, on a terminal only, and is gone at the end.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := StartProgress(IO{Err: &out})
	p.start = p.start.Add(-2 * time.Second)
	p.Set("reading %d %%", 50)
	p.draw()
	p.End()
	if out.Len() > 0 {
		t.Errorf("not on a terminal: %q", out.String())
	}
	p = &Progress{IO: IO{Err: &out, ErrTerm: true}, start: time.Now(), stop: make(chan struct{})}
	p.Set("reading %d %%", 50)
	p.draw()
	if out.Len() > 0 {
		t.Errorf("at once: %q", out.String())
	}
	p.start = p.start.Add(-2 * time.Second)
	p.draw()
	p.End()
	if want := "\r\x1b[Kreading 50 % (2 s)\r\x1b[K"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
