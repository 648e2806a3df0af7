package api

import (
	"github.com/whyslow/whyslow/internal/record/collect"
	"net"
	"net/http"
	"slices"
	"strings"
)

// cookie is the name of a server's cookie. Browsers send cookies to all ports of a host, so the name has the
// port: otherwise servers with different tokens would overwrite each other's.
func cookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "whyslow_token_" + port
	}
	return "whyslow_token"
}

// policy is what the page may load: nothing from elsewhere, and no code or style except its files. Canvases
// are saved through blobs.
const policy = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// guard lets in only those who may ask, and tells browsers what the page may do.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			fail(w, http.StatusMethodNotAllowed, "only GET is answered")
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
			http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: given, Path: "/", HttpOnly: true,
				Secure: s.cfg.TLS != nil, SameSite: http.SameSiteStrictMode})
			q := r.URL.Query()
			q.Del("token")
			r.URL.RawQuery = q.Encode()
			// The redirect comes from our page, so the strict cookie goes with it. The token leaves the
			// address bar.
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusSeeOther)
			return
		}
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if c, err := r.Cookie(cookie(r)); err == nil && given == "" {
			given = c.Value
		}
		// The page itself holds no secrets, and must load to ask for the token.
		if strings.HasPrefix(r.URL.Path, "/api/") && !collect.TokenOK(given, s.cfg.Token) {
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
