package crew

import (
	"bytes"
	"sync"
)

// tagged is a writer of text that is passed on in whole lines, each with a tag in front; without a tag also
// in pieces of longestLine bytes without an end.
type tagged struct {
	tag string
	put func(lines []byte)

	mu   sync.Mutex
	line []byte // that has begun
}

// Write implements io.Writer; it never fails.
func (t *tagged) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = append(t.line, b...)
	whole := bytes.LastIndexByte(t.line, '\n') + 1
	if t.tag == "" && len(t.line)-whole >= longestLine {
		whole = len(t.line)
	}
	var lines []byte
	for line := range bytes.Lines(t.line[:whole]) {
		lines = append(append(lines, t.tag...), line...)
	}
	if t.line = append(t.line[:0], t.line[whole:]...); len(lines) > 0 {
		t.put(lines)
	}
	return len(b), nil
}

// flush ends a line that has begun.
func (t *tagged) flush() {
	t.mu.Lock()
	begun := len(t.line) > 0
	t.mu.Unlock()
	if begun {
		_, _ = t.Write([]byte("\n")) // it never fails
	}
}
