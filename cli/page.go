package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
)

// pageOptions say where the page is served and to whom.
type pageOptions struct {
	listen    string
	token     string
	insecure  bool
	cert, key string
	noBrowser bool
	memory    string
	chosen    bool // the address was given by the user

	memoryBytes int64
	tls         *tls.Config
}

func (o *pageOptions) addTo(f *pflag.FlagSet, listen string) {
	f.StringVar(&o.listen, "listen", listen, "serve the page at this `address`, HOST:PORT; port 0: any"+
		" free one")
	f.StringVar(&o.token, "token", "", "`word` that everybody who connects must give"+
		" (default: $"+console.Tokens+")")
	f.BoolVar(&o.insecure, "insecure", false, "let in everybody who can reach the address")
	f.StringVar(&o.cert, "tls-cert", "", "`file` with the certificate: serve https")
	f.StringVar(&o.key, "tls-key", "", "`file` with its key")
	f.StringVar(&o.memory, "memory", "4Gi", "about how many `bytes` of memory a run may take; a longer"+
		" run is shown in detail one part at a time")
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
	n, err := parseBytes(o.memory)
	if err != nil || n < 64<<20 {
		return console.Misuse("%s: --memory=%s: say at least 64Mi bytes, such as 4Gi", verb, o.memory)
	}
	o.memoryBytes = int64(n)
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

// limitMemory keeps this process, which does nothing but show runs, from letting garbage grow far beyond what
// the runs may take.
func (o *pageOptions) limitMemory() { debug.SetMemoryLimit(o.memoryBytes) }

// page is the page while it is being served.
type page struct {
	url     string // where it is, without the token
	open    string // with it
	address string // HOST:PORT
	stop    func()
	done    chan error
}

// serve starts serving the page.
func (o *pageOptions) serve(io console.IO, runs *live.Set, collector *collect.Collector) (*page, error) {
	l, err := net.Listen("tcp", o.listen)
	if errors.Is(err, syscall.EADDRINUSE) && !o.chosen {
		// The usual port is taken, by another page likely: any will do.
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
	server := api.New(api.Config{Runs: runs, Token: o.token, Collector: collector, TLS: o.tls,
		Log: func(text string) { io.Say("warning: %s", text) }})
	p := &page{done: make(chan error, 1)}
	var once sync.Once
	go func() { p.done <- server.Serve(ctx, l) }()
	p.stop = func() { once.Do(cancel) }
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
	p.url = scheme + "://" + p.address + "/"
	p.open = p.url
	if o.token != "" {
		p.open += "?token=" + url.QueryEscape(o.token)
	}
	return p, nil
}

// browse opens the page in the user's browser, if there is a screen to show it on.
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
	cmd := exec.Command(command, p.open)
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
		if e.Name() == "run.json" || strings.HasSuffix(e.Name(), ".wst") {
			return true
		}
	}
	return false
}
