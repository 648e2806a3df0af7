package api

import (
	"net/http"
	"time"
)

// partBytes is how much of an answer a client must take within one time limit.
const partBytes = 64 << 10

// paced sends answers in parts. A client that does not take a part in time is disconnected: meanwhile the
// answer, and what it was made from, take memory. An answer as a whole may take any time.
func paced(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), within: within}
		p.begin()
		next.ServeHTTP(p, r)
		p.begin() // the server sends what it has left
	})
}

type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
}

// begin begins a part.
func (p *pacedWriter) begin() {
	// A closed connection is noticed when it is written to.
	_ = p.control.SetWriteDeadline(time.Now().Add(p.within))
}

func (p *pacedWriter) Write(b []byte) (n int, err error) {
	for {
		p.begin()
		m, err := p.ResponseWriter.Write(b[n:min(n+partBytes, len(b))])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Flush sends what was written.
func (p *pacedWriter) Flush() {
	p.begin()
	_ = p.control.Flush() // likewise
}

// Unwrap is for http.ResponseController.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
