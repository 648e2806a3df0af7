// Package api serves the page and answers its questions about runs over HTTP. web/src/api.ts describes
// questions and answers; routes.go registers every path.
//
// Who may ask: a server on 127.0.0.1 answers everybody who can reach it. It refuses names other than its own
// in the Host header, so that a page from elsewhere cannot make a browser ask on its behalf. On any other
// address a token is needed unless the user declines one. It comes in the Authorization header, or in a
// cookie that visiting /?token=... sets.
package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/web"
)

// Limits of the server.
const (
	answerTime  = 2 * time.Minute // for one question
	DefaultPort = 7568
)

// Config of a Server.
type Config struct {
	Runs *live.Set
	// Token that clients must send; "": none.
	Token string
	// Collector receives the streams of runs; nil: none are received.
	Collector *collect.Collector
	// Indexed is how many events a finished run has at least whose first picture is kept; 0: a million.
	Indexed uint64
	// TLS, if not nil, has the certificate.
	TLS *tls.Config
	// Limits are those of connections; zero values mean collect.DefaultLimits.
	Limits collect.Limits
	// Debugger, if not nil, debugs the only run.
	Debugger Debugger
	// Log gets a line of text about each error; nil: nobody does.
	Log func(text string)
}

// Server shows runs.
type Server struct {
	cfg   Config
	hosts []string // that may be asked for; empty: any

	pictures pictures
}

// New makes a server.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, pictures: pictures{least: cmp.Or(cfg.Indexed, leastIndexed)}}
}

// Handler answers everything the server serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.routes(mux)
	mux.Handle("GET /", page())
	zip, err := gzhttp.NewWrapper(gzhttp.MinSize(1024),
		gzhttp.ExceptContentTypes([]string{"application/gzip", "text/event-stream", "image/png"}))
	if err != nil {
		panic(err) // the options are fixed
	}
	outer := http.NewServeMux()
	if s.cfg.Collector != nil {
		// It checks tokens itself, to refuse senders in the words of their protocol.
		outer.Handle("/stream", s.cfg.Collector)
	}
	outer.Handle("/", paced(s.guard(zip(mux)), cmp.Or(s.cfg.Limits.Idle, collect.DefaultLimits().Idle)))
	return outer
}

// page serves the built files.
func page() http.Handler {
	files := http.FileServerFS(web.Files())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}

// Serve answers on a listener until ctx ends, which cuts off streams and questions under way. It fails if the
// configuration is wrong or the listener fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() && s.cfg.Token == "" {
		s.hosts = []string{"localhost", "127.0.0.1", "::1", tcp.IP.String()}
	}
	server, err := collect.Server(s.Handler(), s.cfg.Limits, s.cfg.Log)
	if err != nil {
		return err
	}
	if l, err = collect.Listener(l, s.cfg.Limits); err != nil {
		return err
	}
	if s.cfg.TLS != nil {
		l = tls.NewListener(l, s.cfg.TLS)
	}
	if s.cfg.Collector != nil {
		go s.pictures.keepEnded(ctx, s.cfg.Runs, goingOn(s.cfg.Runs))
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve tells
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// CheckAddress returns an error if listening on an address would let others look at the runs.
func CheckAddress(address, token string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: use HOST:PORT, such as 127.0.0.1:%d", address, DefaultPort)
	}
	if token != "" || insecure {
		return nil
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s can be reached from other computers: give --token, or --insecure to allow anyone",
		address)
}
