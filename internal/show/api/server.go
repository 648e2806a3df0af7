// Package api serves the page and answers its questions about runs, over HTTP. web/src/api.ts says what is
// asked and answered; every path there is registered in routes.go.
//
// Who may ask: a server on this computer's own address (127.0.0.1) is for whoever can reach it, and refuses
// names other than its own in the Host header, so that a page from elsewhere cannot make a browser ask for
// it. Any other address needs a token, in the Authorization header or in a cookie that visiting /?token=...
// sets, unless it was said that none is wanted.
package api

import (
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
	// Token that whoever asks must have; "" none.
	Token string
	// Collector receives the streams of runs; nil: none are received.
	Collector *collect.Collector
	// TLS, if not nil, has the certificate.
	TLS *tls.Config
	// Limits are those of connections; zero values mean collect.DefaultLimits.
	Limits collect.Limits
	// Log is told what goes wrong with a line of text; nil: nobody is.
	Log func(text string)
}

// Server shows runs.
type Server struct {
	cfg   Config
	hosts []string // that may be asked for; empty: any
}

// New makes a server.
func New(cfg Config) *Server {
	return &Server{cfg: cfg}
}

// Handler is everything the server answers.
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
		// It checks tokens itself: a refused sender is to be told in the words of the protocol.
		outer.Handle("/stream", s.cfg.Collector)
	}
	outer.Handle("/", s.guard(zip(mux)))
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

// Serve answers on a listener until ctx ends. Streams and questions under way then are cut off.
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
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve tells
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// CheckAddress tells why an address must not be listened on like this: whoever can reach it could look at the
// runs.
func CheckAddress(address, token string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: say HOST:PORT, such as 127.0.0.1:%d", address, DefaultPort)
	}
	if token != "" || insecure {
		return nil
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s can be reached from other computers: give --token, or --insecure to let everybody in",
		address)
}
