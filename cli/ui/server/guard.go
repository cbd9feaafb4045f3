package server

import (
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// guard refuses requests that don't come from the page, and adds the headers that keep
// other sites from reading or framing an answer.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "frame-ancestors 'none'")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		switch {
		case !isLoopback(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "the host of this address isn't this machine")
		case r.Method != http.MethodGet:
			h.Set("Allow", http.MethodGet)
			refuse(w, http.StatusMethodNotAllowed, "the page only reads")
		case !sameOrigin(r):
			refuse(w, http.StatusForbidden, "another site has sent this request")
		case r.URL.Path == "/favicon.ico": // browsers ask for it on their own
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == s.session.path && r.URL.Query().Has("token"):
			s.enter(w, r)
		case !s.session.known(r):
			refuse(w, http.StatusUnauthorized, "open the address that pequod ui has printed; it can be opened once, so start pequod ui again for another browser")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// enter lets the holder of a token in. The page that it returns leads on to the address
// without the token. A redirect would not do: browsers withhold the cookie if another site
// or program has opened the address.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !s.session.redeem(w, r.URL.Query().Get("token")) && !s.session.known(r) {
		refuse(w, http.StatusUnauthorized, "this address was opened before, or it isn't complete; start pequod ui again for another one")
		return
	}
	address := url.URL{Path: s.session.path, Fragment: s.First}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><meta charset="utf-8"><title>Pequod</title><meta http-equiv="refresh" content="0;url=` + html.EscapeString(address.String()) + `">`))
}

// refuse answers with a reason in one line.
func refuse(w http.ResponseWriter, code int, reason string) {
	http.Error(w, "pequod ui: "+source.Escape(reason, "\n"), code)
}

// isLoopback reports whether a Host header names this machine. Any other name may have been
// pointed here by its owner, whose page could then read the answers (DNS rebinding).
func isLoopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && addr.IsLoopback()
}

// sameOrigin reports whether a request comes from a page of this server, or from no page.
// Opening the address with the token is permitted from everywhere: programs and other
// sites, such as a terminal in a browser, may do that, and learn nothing by it.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // old browsers and other programs have no such header
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.URL.Query().Has("token") || r.URL.Path == "/favicon.ico"
}
