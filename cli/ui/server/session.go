package server

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"sync"
)

// cookieName is the name of the cookie. Its path differs in each process.
const cookieName = "pequod-ui"

// session decides who may read the page.
type session struct {
	// path is the path of the page, such as /3f0a…/. It isn't secret.
	path string
	// secret is the value of the cookie.
	secret string

	mu    sync.Mutex
	token string // of the printed address, "" once it was used
}

// newSession returns a session that waits for its token.
func newSession() *session {
	return &session{path: "/" + random(8) + "/", secret: random(32), token: random(32)}
}

// random returns random bytes as hexadecimal digits.
func random(bytes int) string {
	data := make([]byte, bytes)
	_, _ = rand.Read(data) // it never returns an error
	return hex.EncodeToString(data)
}

// known reports whether a request has the cookie.
func (s *session) known(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		if equal(c.Value, s.secret) {
			return true
		}
	}
	return false
}

// redeem exchanges a token for the cookie, once. It reports whether the token is valid.
func (s *session) redeem(w http.ResponseWriter, token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !equal(token, s.token) {
		return false
	}
	s.token = ""
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.secret, Path: s.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return true
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
