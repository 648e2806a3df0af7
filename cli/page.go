package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// pageOptions say where the page is served and to whom.
type pageOptions struct {
	listen    string
	token     string // given by the user: collectors ask for it, too
	secret    string // what the page asks for: token or a random word; empty with insecure
	insecure  bool
	cert, key string
	noBrowser bool
	memory    memoryBudget
	chosen    bool // the address was given by the user

	tls    *tls.Config
	limits collect.Limits // of connections; zero: the usual ones
}

func (o *pageOptions) addTo(f *pflag.FlagSet, listen string) {
	f.StringVar(&o.listen, "listen", listen, "serve the page at this `address`, HOST:PORT; port 0: any free one")
	f.StringVar(&o.token, "token", "", "access `token` that clients must send (default: $"+
		console.Tokens+"; otherwise the page asks for a random one, which is in the printed link)")
	f.BoolVar(&o.insecure, "insecure", false, "allow access without a token to anyone who can reach the address")
	f.StringVar(&o.cert, "tls-cert", "", "`file` with the certificate: serve https")
	f.StringVar(&o.key, "tls-key", "", "`file` with its key")
}

func (o *pageOptions) addBrowser(f *pflag.FlagSet) {
	f.BoolVar(&o.noBrowser, "no-browser", false, "do not open the browser")
}

func (o *pageOptions) check(verb string, f *pflag.FlagSet) error {
	o.chosen = f.Changed("listen")
	o.token = cmp.Or(o.token, os.Getenv(console.Tokens))
	if err := api.CheckAddress(o.listen, o.token, o.insecure); err != nil {
		return console.Misuse("%s: --listen: %w", verb, err)
	}
	if o.secret = o.token; o.secret == "" && !o.insecure {
		o.secret = rand.Text()
	}
	if err := o.memory.check(verb, 1); err != nil {
		return err
	}
	if o.memory.text != "" && o.memory.Budget < 64<<20 {
		return console.Misuse("%s: --memory=%s: give at least 64Mi bytes, such as 4Gi", verb, o.memory.text)
	}
	switch {
	case (o.cert == "") != (o.key == ""):
		return console.Misuse("%s: give both --tls-cert and --tls-key", verb)
	case o.cert != "":
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return badInput(fmt.Errorf("the certificate cannot be used: %w", console.FileError(err)))
		}
		o.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}}
	}
	return nil
}

// ofRun is how many bytes of memory a run may take: a longer one is shown in detail one part at a time.
func (o *pageOptions) ofRun() int64 {
	if o.memory.text != "" {
		return int64(o.memory.Budget)
	}
	return min(int64(o.memory.Budget), live.DefaultMemory) // 0: not known, and live takes its default
}

// page is the page while it is being served.
type page struct {
	url     string // to print: with the token, if that is a random one
	open    string // with whatever token there is
	address string // HOST:PORT
	stop    func()
	done    chan error
}

// serve starts serving the page of what cfg has; who may look comes from the options.
func (o *pageOptions) serve(io console.IO, cfg api.Config) (*page, error) {
	l, err := net.Listen("tcp", o.listen)
	if err != nil && !o.chosen {
		// The usual port is taken, likely by another page: any will do.
		host, _, _ := net.SplitHostPort(o.listen)
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, badInput(fmt.Errorf("cannot listen on %s: %w; choose another address with --listen",
			o.listen, err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cfg.Token, cfg.TLS, cfg.Limits = o.secret, o.tls, o.limits
	cfg.Log = func(text string) { io.Say("warning: %s", text) }
	server := api.New(cfg)
	p := &page{done: make(chan error, 1), stop: cancel}
	go func() { p.done <- server.Serve(ctx, l) }()
	scheme := "http"
	if o.tls != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		host, port = "127.0.0.1", ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	p.address = net.JoinHostPort(host, port)
	at, more := url.URL{Scheme: scheme, Host: p.address, Path: "/"}, url.Values{}
	if cfg.Debugger != nil {
		more.Set("view", "debug")
	}
	at.RawQuery = more.Encode()
	p.url = at.String()
	if o.secret != "" {
		more.Set("token", o.secret)
	}
	at.RawQuery = more.Encode()
	p.open = at.String()
	if o.token == "" {
		p.url = p.open
	}
	return p, nil
}

// browse opens the page in the user's browser, if there is a screen to show it on. Everybody on the computer
// can read the browser's command line, so the link with the token stands in a file that only the user can
// read.
func (p *page) browse(o *pageOptions) {
	if o.noBrowser {
		return
	}
	command := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		command = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	dir, err := os.MkdirTemp("", "whyslow-page-")
	if err != nil {
		return // the link is printed
	}
	file := filepath.Join(dir, "open.html")
	text := `<meta http-equiv="refresh" content="0; url=` + html.EscapeString(p.open) + `">`
	stop := p.stop
	p.stop = func() {
		stop()
		_ = os.RemoveAll(dir)
	}
	if os.WriteFile(file, []byte(text), 0o600) != nil {
		return
	}
	cmd := exec.Command(command, file)
	if cmd.Start() == nil {
		go cmd.Wait() //nolint:errcheck // the address is printed: without a browser the user has that
	}
}

// until keeps the page until ctx ends or it cannot be served any more.
func (p *page) until(ctx context.Context) error {
	defer p.stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.done:
		return badInput(err)
	}
}

// isTrace tells whether a folder looks like a trace.
func isTrace(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() == tracefile.RunFile || strings.HasSuffix(e.Name(), ".wst") {
			return true
		}
	}
	return false
}

// wholeTrace is the trace that the user means by path. A file in a trace's folder stands for the folder, and
// a line on io says so: hardly anybody wants the totals of one node, and they would pass for those of the
// run. A file without others beside it is a trace.
func wholeTrace(io console.IO, path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	if st, err := os.Stat(path); err != nil || st.IsDir() || name != tracefile.RunFile &&
		filepath.Ext(name) != ".wst" {
		return path
	}
	dir = filepath.Clean(dir)
	nodes, err := files.NewNames(dir, ".wst").Read()
	_, without := os.Stat(filepath.Join(dir, tracefile.RunFile))
	if err != nil || len(nodes) == 0 || len(nodes) == 1 && without != nil {
		return path
	}
	io.Say("%s is part of the trace %s: reading all of it", name, dir)
	return dir
}
