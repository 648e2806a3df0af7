package stream

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Target is a collector to send to.
type Target struct {
	Addr  string      // HOST:PORT
	Token string      // "": none
	TLS   *tls.Config // nil: no TLS
}

// ParseTarget reads HOST:PORT, http://HOST:PORT or https://HOST:PORT (with TLS).
func ParseTarget(s string) (Target, error) {
	wrong := func() (Target, error) {
		return Target{}, fmt.Errorf(
			"%q is not a collector: use HOST:PORT, or https://HOST:PORT for one with TLS", oneLine(s))
	}
	var t Target
	t.Addr = s
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		u, err := url.Parse(s)
		if err != nil || (u.Path != "" && u.Path != "/") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return wrong()
		}
		switch scheme {
		case "http":
		case "https":
			t.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		default:
			return wrong()
		}
		t.Addr = u.Host
	}
	host, port, err := net.SplitHostPort(t.Addr)
	if err != nil || host == "" || strings.ContainsAny(host, " \t\r\n/\\@") {
		return wrong()
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return wrong()
	}
	return t, nil
}

// TrustFile turns TLS on and accepts certificates signed by those in a PEM file.
func (t *Target) TrustFile(path string) error {
	pem, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: no certificate in PEM form in it", path)
	}
	t.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return nil
}

func (t Target) url() string {
	if t.TLS != nil {
		return "https://" + t.Addr
	}
	return "http://" + t.Addr
}

// dial asks for a stream. Errors are one line without the collector's name; its own answer is a Refusal.
func (t Target) dial(ctx context.Context, within time.Duration) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", t.Addr)
	if err != nil {
		return nil, plain(err)
	}
	conn, err := t.ask(ctx, c)
	if err != nil {
		_ = c.Close()
		return nil, plain(err)
	}
	return conn, nil
}

func (t Target) ask(ctx context.Context, c net.Conn) (*Conn, error) {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	// A cancelled context ends reading and writing.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if t.TLS != nil {
		conf := t.TLS.Clone()
		if conf.ServerName == "" {
			conf.ServerName, _, _ = net.SplitHostPort(t.Addr)
		}
		conf.NextProtos = []string{"http/1.1"} // HTTP/2 has no such upgrade
		tc := tls.Client(c, conf)
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, tlsRefusal(err)
		}
		c = tc
	}
	req, err := http.NewRequest(http.MethodGet, t.url()+Path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", Protocol)
	if t.Token != "" {
		req.Header.Set("Authorization", "Bearer "+t.Token)
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	answer := &io.LimitedReader{R: c, N: maxAnswer}
	r := bufio.NewReaderSize(answer, 32<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, fmt.Errorf("no proper answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != Protocol {
		return nil, httpRefusal(resp)
	}
	if !stop() {
		return nil, ctx.Err()
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	answer.N = math.MaxInt64 // frames are bounded by themselves
	return NewConn(c, r, time.Until(deadline), MinMaxFrame), nil
}

// maxAnswer is how many bytes of an HTTP answer are read, and of a frame of the collector's: what others send
// must not fill the memory of the program that is measured. A have frame of 8,000 streams is as long.
const maxAnswer = 64 << 10

// tlsRefusal makes errors that come again at every try final.
func tlsRefusal(err error) error {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &record):
		return &Refusal{Code: refusedTLS, Text: "answers without TLS, so nothing is sent to it", Final: true}
	case errors.As(err, &cert):
		return &Refusal{Code: refusedTLS, Text: fmt.Sprintf("its certificate is not accepted: %v", cert.Err),
			Final: true}
	}
	return err
}

// httpRefusal is what an answer other than 101 means.
func httpRefusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	text := strings.TrimSpace(oneLine(strings.TrimSpace(string(body))))
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return &Refusal{Code: refusedToken, Text: "wrong token, or none: give the one that the collector" +
			" was started with", Final: true}
	case http.StatusUpgradeRequired:
		if text == "" {
			text = "it speaks another version of the protocol than " + Protocol
		}
		return &Refusal{Code: RefusedVersion, Text: text, Final: true}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusInternalServerError:
		if text == "" {
			text = resp.Status
		}
		return &Refusal{Code: refusedBusy, Text: text}
	}
	hint := ""
	if strings.Contains(text, "HTTPS") {
		hint = "; it expects TLS: use https://HOST:PORT"
	}
	return &Refusal{Code: refusedHTTP, Text: fmt.Sprintf("answers %s, it is not a whyslow collector%s",
		resp.Status, hint), Final: true}
}

// plain takes addresses and system calls out of an error, whose line names the collector already.
func plain(err error) error {
	var dns *net.DNSError
	var errno syscall.Errno
	var timeout net.Error
	var refusal *Refusal
	var worded errorText
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &worded):
		return worded
	case errors.As(err, &dns):
		return errorText{"its name is not known: " + dns.Err, err}
	case errors.As(err, &errno):
		return errorText{errno.Error(), err}
	case errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return errorText{"no answer", err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errorText{"it hung up", err}
	}
	return err
}

// errorText is an error in other words.
type errorText struct {
	text string
	err  error
}

func (e errorText) Error() string { return e.text }
func (e errorText) Unwrap() error { return e.err }
