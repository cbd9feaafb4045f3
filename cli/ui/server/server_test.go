package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// silent is a source whose streams end with the page.
type silent struct{}

func (silent) Page(w io.Writer) error { _, err := io.WriteString(w, "page"); return err }
func (silent) List(ctx context.Context, _ Send) error {
	<-ctx.Done()
	return nil
}
func (silent) Graph(context.Context, string, string, Send) error     { return nil }
func (silent) Diff(context.Context, string, string, io.Writer) error { return nil }

// TestLoopback checks that other machines can't be let in.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false, "localhost": false} {
		s, err := Listen(address, 0)
		if (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestAccess checks that whoever may connect, but hasn't opened the address, reads nothing. The test of the
// command has more requests.
func TestAccess(t *testing.T) {
	s := &Server{session: newSession(), streams: make(chan struct{}, maxStreams)}
	page := httptest.NewServer(s.guard(s.handler(silent{})))
	defer page.Close()
	var cookie *http.Cookie
	get := func(ctx context.Context, path, header, value string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "GET", page.URL+s.session.path+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header == "Host" {
			r.Host = value
		} else if header != "" {
			r.Header.Set(header, value)
		}
		if cookie != nil {
			r.AddCookie(cookie)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	token := s.session.token
	for _, test := range []struct {
		path, header, value string
		want                int
	}{
		{"", "", "", 401},
		{"?token=", "", "", 401},
		{"?token=" + strings.Repeat("0", len(token)), "", "", 401},
		{"", "Cookie", cookieName + "=" + strings.Repeat("0", len(s.session.secret)), 401},
		{"?token=" + token, "", "", 200},
		{"?token=" + token, "", "", 401},
	} {
		answer := get(t.Context(), test.path, test.header, test.value)
		if answer.StatusCode != test.want {
			t.Errorf("%+v: %s", test, answer.Status)
		}
		for _, c := range answer.Cookies() {
			if test.want != 200 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != s.session.path {
				t.Errorf("%+v: the cookie %s", test, c)
			}
		}
	}
	cookie = &http.Cookie{Name: cookieName, Value: s.session.secret}
	for _, test := range []struct {
		header, value string
		want          int
	}{
		{"", "", 200}, {"Host", "evil.example", 421}, {"Origin", "http://evil.example", 403}, {"Sec-Fetch-Site", "cross-site", 403},
	} {
		if answer := get(t.Context(), "", test.header, test.value); answer.StatusCode != test.want {
			t.Errorf("%+v with the cookie: %s", test, answer.Status)
		}
	}
	// Pages that stay open don't use up the connections to the API server.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range maxStreams + 1 {
		want := http.StatusOK
		if i == maxStreams {
			want = http.StatusServiceUnavailable
		}
		if answer := get(ctx, "graphs", "", ""); answer.StatusCode != want {
			t.Errorf("stream %d: %s", i+1, answer.Status)
		}
	}
}
