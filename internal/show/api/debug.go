package api

import (
	"io"
	"net/http"
	"net/url"
)

// Debugger debugs the run that the page shows. Its errors are the user's: one line each.
type Debugger interface {
	// State gives how the program stands, and a channel that is closed when that changes.
	State() (any, <-chan struct{})
	// Ask answers a question about what is there now; nil where it is not there.
	Ask(what string, q url.Values) (any, error)
	// Do has an action done, whose arguments are JSON.
	Do(action string, args []byte) error
}

// maxArgs is how many bytes the arguments of an action may have. A value may be a long text.
const maxArgs = 1 << 20

// debug registers what is answered while a run is debugged.
func (s *Server) debug(mux *http.ServeMux) {
	d := s.cfg.Debugger
	mux.HandleFunc("GET /api/debug/updates", func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, func() {}, d.State)
	})
	mux.HandleFunc("GET /api/debug/{what}", func(w http.ResponseWriter, r *http.Request) {
		v, err := d.Ask(r.PathValue("what"), r.URL.Query())
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		answer(w, v)
	})
	mux.HandleFunc("PUT /api/debug/{action}", func(w http.ResponseWriter, r *http.Request) {
		args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArgs))
		if err == nil {
			err = d.Do(r.PathValue("action"), args)
		}
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
