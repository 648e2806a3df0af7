package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/record/collect"
)

// session is the cookie of those who gave the token. Browsers send cookies to all ports of a host, also to
// servers of other users there. So the name has the port, and the value is not the token but a sum of it that
// no other port takes. It stays the same when a server starts again with the same token.
func (s *Server) session(r *http.Request) (name, value string) {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	sum := hmac.New(sha256.New, []byte(s.cfg.Token))
	sum.Write([]byte("session at port " + port))
	return "whyslow_session_" + port, hex.EncodeToString(sum.Sum(nil))
}

// admitted tells whether a request has the token or the session's cookie.
func (s *Server) admitted(r *http.Request) bool {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return collect.TokenOK(given, s.cfg.Token)
	}
	name, value := s.session(r)
	c, err := r.Cookie(name)
	return err == nil && hmac.Equal([]byte(c.Value), []byte(value))
}

// policy is what the page may load: nothing from elsewhere, and no code or style except its files. Canvases
// are saved through blobs.
const policy = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// methods are those that are answered. Browsers ask before another site's page may use the last two, and are
// not told that it may.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}

// guard lets in only those who may ask, and tells browsers what the page may do.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !slices.Contains(methods, r.Method) {
			fail(w, http.StatusMethodNotAllowed, "only GET, PUT and DELETE are answered")
			return
		}
		if len(s.hosts) > 0 && !slices.Contains(s.hosts, hostOf(r.Host)) {
			fail(w, http.StatusMisdirectedRequest, "this server answers to localhost only")
			return
		}
		if s.cfg.Token == "" {
			next.ServeHTTP(w, r)
			return
		}
		if given := r.URL.Query().Get("token"); given != "" && r.URL.Path == "/" {
			if !collect.TokenOK(given, s.cfg.Token) {
				fail(w, http.StatusUnauthorized, "the token is wrong")
				return
			}
			name, value := s.session(r)
			http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true,
				Secure: s.cfg.TLS != nil, SameSite: http.SameSiteStrictMode})
			q := r.URL.Query()
			q.Del("token")
			r.URL.RawQuery = q.Encode()
			// The redirect comes from our page, so the strict cookie goes with it. The token leaves the
			// address bar.
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusSeeOther)
			return
		}
		// The page itself holds no secrets, and must load to ask for the token.
		if strings.HasPrefix(r.URL.Path, "/api/") && !s.admitted(r) {
			h.Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "this server asks for a token: open it as /?token=...")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
