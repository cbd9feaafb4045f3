package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const (
	tokenReviews  = "tokenreviews.authentication.k8s.io"
	accessReviews = "subjectaccessreviews.authorization.k8s.io"
)

// gate is a filter in front of a handler that answers 200 with the credentials
// that it gets.
type gate struct {
	http.Handler
	*reviewer
	proxy *faults.Proxy
	// scraper may get /metrics, because its group may. stranger may not.
	scraper, stranger string

	mu     sync.Mutex
	bodies []string // of SubjectAccessReviews
}

func newGate(t *testing.T) *gate {
	t.Helper()
	c := harness.Start(t)
	g := &gate{
		proxy:    c.Proxy(t, 1),
		scraper:  c.ServiceAccount(t, c.Namespace, "scraper").BearerToken,
		stranger: c.ServiceAccount(t, "default", c.Unique("stranger")).BearerToken,
	}
	role, group := c.Unique("metrics-reader"), "system:serviceaccounts:"+c.Namespace
	c.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: %[2]q}]
`, role, group))
	// A denial is cached, so the API server must know the role before it is asked.
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "x", Groups: []string{group},
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
			},
		}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = fmt.Errorf("not allowed yet: %s", review.Status.Reason)
		}
		return err
	})
	config := rest.CopyConfig(g.proxy.Config(c.Config))
	config.QPS = -1
	config.ContentType = "application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{g, next} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	g.reviewer, err = newReviewer(config, client)
	if err != nil {
		t.Fatal(err)
	}
	g.Handler, err = g.filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "credentials: ", r.Header.Get("Authorization"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// recorder records the bodies of SubjectAccessReviews.
type recorder struct {
	gate *gate
	next http.RoundTripper
}

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/subjectaccessreviews") {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		r.gate.mu.Lock()
		r.gate.bodies = append(r.gate.bodies, string(body))
		r.gate.mu.Unlock()
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r.next.RoundTrip(request)
}

// get sends a request with the header Authorization.
func (g *gate) get(authorization string) *httptest.ResponseRecorder {
	return g.send(http.MethodGet, "/metrics", authorization)
}

func (g *gate) send(method, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://applier"+path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// requests returns how many reviews of both kinds have reached the proxy since the
// last call.
func (g *gate) requests() (tokens, access int) {
	for _, r := range g.proxy.Requests() {
		switch r.Resource {
		case tokenReviews:
			tokens++
		case accessReviews:
			access++
		}
	}
	g.proxy.Reset()
	return tokens, access
}

// TestReviews checks who passes the filter, and how many requests that takes.
func TestReviews(t *testing.T) {
	g := newGate(t)
	for _, test := range []struct {
		name, method, path, authorization string
		code, tokens, access              int
	}{
		{"without a token", "GET", "/metrics", "", 401, 0, 0},
		{"with an empty token", "GET", "/metrics", "Bearer ", 401, 0, 0},
		{"with a password", "GET", "/metrics", "Basic " + g.scraper, 401, 0, 0},
		{"with a wrong token", "GET", "/metrics", "Bearer wrong", 401, 1, 0},
		{"with the same wrong token", "GET", "/metrics", "Bearer wrong", 401, 0, 0},
		{"without the right", "GET", "/metrics", "Bearer " + g.stranger, 403, 1, 1},
		{"again without the right", "GET", "/metrics", "Bearer " + g.stranger, 403, 0, 0},
		{"with the right", "GET", "/metrics", "Bearer " + g.scraper, 200, 1, 1},
		{"again with the right", "GET", "/metrics", "bearer  " + g.scraper + " ", 200, 0, 0},
		{"with another verb", "POST", "/metrics", "Bearer " + g.scraper, 403, 0, 1},
		{"with another path", "GET", "/metrics/more", "Bearer " + g.scraper, 403, 0, 1},
		{"with a huge path", "GET", "/" + strings.Repeat("x", maxCachedRequest), "Bearer " + g.scraper, 403, 0, 1},
		{"with the same huge path", "GET", "/" + strings.Repeat("x", maxCachedRequest), "Bearer " + g.scraper, 403, 0, 1},
	} {
		got := g.send(test.method, test.path, test.authorization)
		tokens, access := g.requests()
		if got.Code != test.code || tokens != test.tokens || access != test.access {
			t.Errorf("%s: %d, %d TokenReviews, %d SubjectAccessReviews; want %d, %d, %d: %s",
				test.name, got.Code, tokens, access, test.code, test.tokens, test.access, got.Body)
		}
		if want := got.Code == http.StatusOK; strings.Contains(got.Body.String(), "credentials:") != want {
			t.Errorf("%s: passed the filter: %t", test.name, !want)
		}
		if strings.Contains(got.Body.String(), "Bearer") {
			t.Errorf("%s: the handler got the token", test.name)
		}
		if test.code == http.StatusUnauthorized && got.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", test.name)
		}
	}
}

// TestReviewedUser checks that all that is known of a user reaches the authorizers
// of the cluster, which may decide by any of it.
func TestReviewedUser(t *testing.T) {
	g := newGate(t)
	g.get("Bearer " + g.scraper)
	if len(g.bodies) != 1 {
		t.Fatalf("%d SubjectAccessReviews", len(g.bodies))
	}
	var review authorizationv1.SubjectAccessReview
	if err := json.Unmarshal([]byte(g.bodies[0]), &review); err != nil {
		t.Fatal(err)
	}
	spec := review.Spec
	if !strings.HasSuffix(spec.User, ":scraper") || spec.UID == "" || !slices.Contains(spec.Groups, "system:authenticated") ||
		len(spec.Extra["authentication.kubernetes.io/credential-id"]) != 1 {
		t.Errorf("incomplete: %s", g.bodies[0])
	}
	if got := spec.NonResourceAttributes; got == nil || got.Path != "/metrics" || got.Verb != "get" || spec.ResourceAttributes != nil {
		t.Errorf("wrong request: %s", g.bodies[0])
	}
}

// TestReviewErrors checks that nobody passes while the API server doesn't answer,
// that errors that pass are retried, and that no error is remembered.
func TestReviewErrors(t *testing.T) {
	g := newGate(t)
	for _, resource := range []string{tokenReviews, accessReviews} {
		for _, test := range []struct {
			name  string
			fault faults.Fault
			times int // 0: always
			code  int
		}{
			{"once overloaded", faults.Status{Code: 500}, 1, 200},
			{"forbidden", faults.Status{Code: 403}, 0, 500},
			{"hanging", faults.Hang{}, 0, 500},
		} {
			g.users.RemoveAll(func(any) bool { return true })
			g.allowed.RemoveAll(func(any) bool { return true })
			g.timeout = reviewTimeout
			if _, hangs := test.fault.(faults.Hang); hangs {
				g.timeout = 100 * time.Millisecond
			}
			g.proxy.Inject(faults.Rule{Resources: []string{resource}, Times: test.times, Faults: []faults.Fault{test.fault}})
			if got := g.get("Bearer " + g.scraper); got.Code != test.code {
				t.Errorf("%s, %s: %d, want %d: %s", resource, test.name, got.Code, test.code, got.Body)
			}
			g.proxy.Inject()
			g.timeout = reviewTimeout
			if got := g.get("Bearer " + g.scraper); got.Code != http.StatusOK {
				t.Errorf("%s, after %s: %d: %s", resource, test.name, got.Code, got.Body)
			}
		}
	}
}

// clock is set by a test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// TestReviewsExpire checks how long answers hold.
func TestReviewsExpire(t *testing.T) {
	g := newGate(t)
	now := &clock{time.Now()}
	g.users, g.allowed = cache.NewLRUExpireCacheWithClock(maxAnswers, now), cache.NewLRUExpireCacheWithClock(maxAnswers, now)
	ask := func(token string, wantTokens, wantAccess int) {
		t.Helper()
		g.get("Bearer " + token)
		if tokens, access := g.requests(); tokens != wantTokens || access != wantAccess {
			t.Errorf("%d TokenReviews, %d SubjectAccessReviews; want %d, %d", tokens, access, wantTokens, wantAccess)
		}
	}
	ask(g.scraper, 1, 1)
	ask(g.stranger, 1, 1)
	ask("wrong", 1, 0)
	now.now = now.now.Add(denyTTL + time.Second)
	ask(g.scraper, 0, 0)
	ask(g.stranger, 0, 1)
	ask("wrong", 0, 0)
	now.now = now.now.Add(tokenTTL - denyTTL)
	ask(g.scraper, 1, 0)
	ask("wrong", 1, 0)
	now.now = now.now.Add(allowTTL - tokenTTL)
	ask(g.scraper, 1, 1)
}

// TestReviewsAreShared checks that concurrent requests with one token share a
// review, and that its first asker can leave.
func TestReviewsAreShared(t *testing.T) {
	g := newGate(t)
	g.proxy.Inject(faults.Rule{Resources: []string{tokenReviews}, Faults: []faults.Fault{faults.Delay{For: 300 * time.Millisecond}}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(gone, http.MethodGet, "https://applier/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+g.scraper)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		t.Error("a client that left passed")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := g.get("Bearer " + g.scraper); got.Code != http.StatusOK {
				t.Errorf("%d: %s", got.Code, got.Body)
			}
		})
	}
	all.Wait()
	if tokens, _ := g.requests(); tokens != 1 {
		t.Errorf("%d TokenReviews, want 1", tokens)
	}
}
