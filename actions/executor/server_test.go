package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// token is a Secret.
type token struct{}

func (token) Secret(context.Context, string, string, string) (map[string][]byte, error) {
	return map[string][]byte{"token": []byte("s3cret")}, nil
}

// TestCredentials sends credentials only to the host that they are for, also if the address is
// that of an expression.
func TestCredentials(t *testing.T) {
	t.Parallel()
	allowed, err := egress.ParseAllowed(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Client: egress.New(egress.Options{Allowed: allowed}), Secrets: token{}}
	auth := &v1alpha1.ServerAuth{TokenSecretRef: v1alpha1.SecretKeyRef{Name: "server", Key: "token"}}
	const elsewhere, refused = "at another host than url", "is not allowed"
	for _, test := range []struct{ url, to, want string }{
		{"", "https://evil.example.com/", elsewhere},
		{"https://example.com/", "https://evil.example.com/", elsewhere},
		{"https://example.com/", "http://example.com/", elsewhere},
		{"https://example.com/", "https://EXAMPLE.com/runs/1", refused}, // by the list of hosts
	} {
		_, err := s.Call(t.Context(), Run{}, Request{Method: "GET", URL: test.to, HTTPRequest: &v1alpha1.HTTPRequest{URL: test.url, Auth: auth}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q to %s: %v, want %q", test.url, test.to, err, test.want)
		}
	}
}

// TestUnsent tells a request that wasn't sent from one whose response is too large.
func TestUnsent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "["+strings.Repeat("[],", 1<<17)) }))
	defer server.Close()
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Client: egress.New(egress.Options{Allowed: allowed})}
	for url, unsent := range map[string]bool{server.URL: false, "https://example.com/": true} {
		var known *Error
		_, err := s.Call(t.Context(), Run{}, Request{Method: "GET", URL: url, HTTPRequest: &v1alpha1.HTTPRequest{}})
		if !errors.As(err, &known) || known.Class != Terminal || known.Unsent != unsent {
			t.Errorf("%s: %#v", url, err)
		}
	}
}
