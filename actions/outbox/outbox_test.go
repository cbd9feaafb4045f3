package outbox

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/test/harness"
)

const patience = 3 * time.Minute

// token is a secret in the file of headers.
const token = "canary-1c9d"

// counts are what an outbox has recorded.
type counts struct {
	mu           sync.Mutex
	sent, failed int
	dropped      map[string]int
	waiting      int
}

func (c *counts) Sent() { c.mu.Lock(); defer c.mu.Unlock(); c.sent++ }

func (c *counts) Failed() { c.mu.Lock(); defer c.mu.Unlock(); c.failed++ }

func (c *counts) Waiting(n int) { c.mu.Lock(); defer c.mu.Unlock(); c.waiting = n }

func (c *counts) Dropped(reason string) { c.mu.Lock(); defer c.mu.Unlock(); c.dropped[reason]++ }

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("sent %d, failed %t, dropped %v, waiting %d", c.sent, c.failed > 0, c.dropped, c.waiting)
}

// marks keep a mark in memory.
type marks struct {
	mu   sync.Mutex
	mark Mark
	err  error
}

func (m *marks) Read(context.Context) (Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mark, m.err
}

func (m *marks) Write(_ context.Context, next Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mark = next
	return nil
}

// receiver is a server that gets messages. answer returns the status code for the nth request with a
// body.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string]int
	auth   map[string]bool
	answer func(w http.ResponseWriter, body string, n int) int
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, body string, n int) int) *receiver {
	t.Helper()
	r := &receiver{bodies: map[string]int{}, auth: map[string]bool{}, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the client is gone
	}
	r.mu.Lock()
	r.bodies[string(body)]++
	r.auth[request.Header.Get("Authorization")] = true
	n := r.bodies[string(body)]
	r.mu.Unlock()
	w.WriteHeader(r.answer(w, string(body), n))
}

// got returns the bodies that were received, with how often.
func (r *receiver) got() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bodies)
}

// box is an outbox that runs.
type box struct {
	*Outbox
	counts *counts
	log    *strings.Builder
	stop   func()
}

// start runs an outbox that sends to an address.
func start(t *testing.T, address string, change func(*Options)) *box {
	t.Helper()
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(header, []byte("Authorization: Bearer "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &box{counts: &counts{dropped: map[string]int{}}, log: &strings.Builder{}}
	var lines sync.Mutex
	o := Options{
		URL: address, HeaderFile: header, Metrics: b.counts, Delay: 10 * time.Millisecond,
		Client: egress.New(egress.Options{Allowed: allowed, Timeout: time.Second}),
		Log: funcr.New(func(prefix, args string) {
			lines.Lock()
			defer lines.Unlock()
			b.log.WriteString(prefix + args)
		}, funcr.Options{}),
	}
	if change != nil {
		change(&o)
	}
	b.Outbox = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = b.Start(ctx); close(done) }() // it returns no error
	b.stop = func() { cancel(); <-done }
	t.Cleanup(func() {
		b.stop()
		if strings.Contains(b.log.String(), token) {
			t.Errorf("the log has the token: %s", b.log)
		}
	})
	return b
}

// put puts messages that happen now, with their ids as bodies.
func (b *box) put(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := b.Put(t.Context(), Message{ID: id, At: b.Now(), Body: []byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
}

// await waits until the counts are as wanted.
func (b *box) await(t *testing.T, want string) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		if got := b.counts.String(); got != want {
			return fmt.Errorf("%s; want %s", got, want)
		}
		return nil
	})
}

// TestAnswers sends messages to a server that answers each with other codes, one after the other.
func TestAnswers(t *testing.T) {
	t.Parallel()
	codes := map[string][]int{
		"fine": {200}, "accepted": {202}, "internal": {500, 500, 200}, "unavailable": {503, 204}, "limited": {429, 202},
		"moved": {307, 200}, "unauthorized": {401, 403, 200}, "invalid": {400}, "large": {413}, "zz": {200},
	}
	r := newReceiver(t, func(w http.ResponseWriter, body string, n int) int {
		if body == "limited" {
			w.Header().Set("Retry-After", "1")
		}
		return codes[body][n-1]
	})
	b := start(t, r.URL, nil)
	first := slices.Sorted(maps.Keys(codes))[:9]
	b.put(t, first...)
	b.await(t, "sent 7, failed true, dropped map[refused:2], waiting 0")
	b.put(t, append(first, "zz")...) // the others are known
	b.await(t, "sent 8, failed true, dropped map[refused:2], waiting 0")
	for body, n := range r.got() {
		if n != len(codes[body]) {
			t.Errorf("%s was sent %d times, want %d", body, n, len(codes[body]))
		}
	}
	if !r.auth["Bearer "+token] || len(r.auth) != 1 {
		t.Errorf("headers: %v", r.auth)
	}
}

// TestAway has a server that is away, and one that never answers. Putting messages takes no time, the
// queue is bounded, and what is in it is sent when the server is back.
func TestAway(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, string, int) int { <-release; return 200 })
	b := start(t, r.URL, nil)
	began := time.Now()
	for i := range maxWaiting + 5 {
		b.put(t, fmt.Sprint(i))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%d messages took %s", maxWaiting, took)
	}
	b.await(t, fmt.Sprintf("sent 0, failed true, dropped map[full:5], waiting %d", maxWaiting))
	close(release)
	b.await(t, fmt.Sprintf("sent %d, failed true, dropped map[full:5], waiting 0", maxWaiting))
	b.stop()
	if n := strings.Count(b.log.String(), "could not be sent"); n != 1 {
		t.Errorf("%d lines about a server that was away once", n)
	}

	r.Close()
	away := start(t, r.URL, nil)
	away.put(t, "a")
	away.await(t, "sent 0, failed true, dropped map[], waiting 1")
	for i := range 17 { // of 16 MiB
		if err := away.Put(t.Context(), Message{ID: fmt.Sprint("large", i), At: time.Now(), Body: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	away.await(t, "sent 0, failed true, dropped map[full:2], waiting 16")
}

// TestExpired drops a message that could not be sent for an hour.
func TestExpired(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(http.ResponseWriter, string, int) int { return 500 })
	var mu sync.Mutex
	now := time.Now()
	b := start(t, r.URL, func(o *Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	b.put(t, "a")
	b.await(t, "sent 0, failed true, dropped map[], waiting 1")
	mu.Lock()
	now = now.Add(maxAge + time.Minute)
	mu.Unlock()
	b.await(t, "sent 0, failed true, dropped map[expired:1], waiting 0")
}

// TestRestart ends an outbox with a message that is sent and one that isn't. The next one sends the
// latter only, and nothing that happened before both.
func TestRestart(t *testing.T) {
	t.Parallel()
	fails := map[string]bool{"unsent": true}
	r := newReceiver(t, func(_ http.ResponseWriter, body string, _ int) int {
		if fails[body] {
			return 500
		}
		return 200
	})
	kept := &marks{}
	with := func(o *Options) { o.Marks = kept }
	old := Message{ID: "old", At: time.Now().Add(-time.Hour / 2), Body: []byte("old")}
	b := start(t, r.URL, with)
	b.put(t, "sent", "unsent")
	if err := b.Put(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	b.await(t, "sent 1, failed true, dropped map[], waiting 1")
	at := b.since.Add(time.Millisecond)
	b.stop()
	fails = nil
	next := start(t, r.URL, with)
	for _, m := range []Message{old, {ID: "sent", At: at, Body: []byte("sent")}, {ID: "unsent", At: at, Body: []byte("unsent")}} {
		if err := next.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	next.await(t, "sent 1, failed false, dropped map[], waiting 0")
	if got := r.got(); got["old"] > 0 || got["sent"] != 1 || got["unsent"] < 2 {
		t.Errorf("received: %v", got)
	}
	next.stop()

	// Long after, nothing older than an hour is sent.
	kept.mark.UpTo = time.Now().Add(-24 * time.Hour)
	last := start(t, r.URL, with)
	for _, m := range []Message{{ID: "day", At: time.Now().Add(-20 * time.Hour)}, {ID: "minute", At: time.Now().Add(-time.Minute)}} {
		m.Body = []byte(m.ID)
		if err := last.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	last.await(t, "sent 1, failed false, dropped map[], waiting 0")
	if got := r.got(); got["day"] > 0 || got["minute"] != 1 {
		t.Errorf("received: %v", got)
	}
	kept.err = errors.New("the API server is away")
	unread := start(t, r.URL, with)
	if err := unread.Put(t.Context(), old); err == nil {
		t.Error("a message was put although the mark is unknown")
	}
	kept.err = nil
}

// clientFunc is a client of one function.
type clientFunc func(context.Context) (*egress.Response, error)

// Do implements [Client].
func (f clientFunc) Do(ctx context.Context, _ egress.Request) (*egress.Response, error) {
	return f(ctx)
}

// TestEnd ends an outbox while a server has a message and hasn't answered yet. The next one doesn't send the
// message again.
func TestEnd(t *testing.T) {
	t.Parallel()
	received, ending := make(chan struct{}), make(chan struct{})
	var sent atomic.Int32
	kept := &marks{}
	with := func(o *Options) {
		o.Marks = kept
		o.Client = clientFunc(func(ctx context.Context) (*egress.Response, error) {
			if sent.Add(1) == 1 {
				close(received)
				<-ending
			}
			return &egress.Response{Status: http.StatusOK}, ctx.Err()
		})
	}
	b := start(t, "http://127.0.0.1", with)
	b.put(t, "late")
	<-received
	go b.stop()
	harness.Eventually(t, patience, func(context.Context) error {
		if !b.queue.ShuttingDown() {
			return errors.New("the outbox doesn't end")
		}
		return nil
	})
	close(ending)
	b.stop()
	next := start(t, "http://127.0.0.1", with)
	if err := next.Put(t.Context(), Message{ID: "late", At: b.since.Add(time.Millisecond), Body: []byte("late")}); err != nil {
		t.Fatal(err)
	}
	next.await(t, "sent 0, failed false, dropped map[], waiting 0")
	if sent.Load() != 1 {
		t.Errorf("the message was sent %d times", sent.Load())
	}
}

// TestMark checks that a mark has the ids of what was sent since the oldest message that waits, and not
// more than fit into an object.
func TestMark(t *testing.T) {
	t.Parallel()
	b := New(Options{Marks: &marks{}})
	now := time.Now()
	b.sent.add("long ago", now.Add(-2*time.Hour))
	b.waiting["a"] = waiting{Message: Message{At: now.Add(-time.Hour)}}
	for i := range maxIDs / 2 {
		b.sent.add(fmt.Sprint(i), now.Add(-time.Duration(i)*time.Second))
	}
	if m := b.mark(); !m.UpTo.Equal(now.Add(-time.Hour)) || len(m.IDs) != maxIDs/2 || b.sent.has("long ago") {
		t.Errorf("%d ids up to %s", len(m.IDs), m.UpTo)
	}
	later := now.Add(time.Second)
	for i := range 2 * maxIDs {
		b.sent.add(fmt.Sprint("later", i), later)
	}
	if m := b.mark(); len(m.IDs) != maxIDs || !strings.HasPrefix(m.IDs[0], "later") {
		t.Errorf("%d ids, such as %s", len(m.IDs), m.IDs[0])
	}
	delete(b.waiting, "a")
	if m := b.mark(); !m.UpTo.Equal(later) || b.sent.has("100") || !b.sent.has("10") {
		t.Errorf("up to %s", m.UpTo)
	}
}

// TestPrivateAuthority sends a message to a server whose certificate is that of a private authority. The file
// with the authority is read again for each request, so a mistake in it can be repaired.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[http.Header]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.Store(&r.Header) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca.crt")
	with := func(o *Options) {
		o.CAFile, o.Header = file, http.Header{"Authorization": {"Bearer of-the-environment"}, "X-Tenant": {"shop"}}
	}
	for name, text := range map[string]string{"none": "", "another": "no certificate"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCertificates(file); err == nil || !strings.Contains(err.Error(), "no certificate as PEM") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := start(t, server.URL, with)
	b.put(t, "a")
	b.await(t, "sent 0, failed true, dropped map[], waiting 1")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	b.await(t, "sent 1, failed true, dropped map[], waiting 0")
	if h := *seen.Load(); h.Get("X-Tenant") != "shop" || h.Get("Authorization") != "Bearer "+token {
		t.Errorf("headers: %v", h)
	}
	untrusted := start(t, server.URL, nil)
	untrusted.put(t, "b")
	untrusted.await(t, "sent 0, failed true, dropped map[], waiting 1")
}

// TestHeaders checks files of headers. Their values are in no error.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"Authorization: Bearer " + token: true, "a: b\n\nc: d\n": true, "": false, token: false, "A b: " + token: false, "A: " + token + "\x01": false,
	} {
		file := filepath.Join(t.TempDir(), "headers")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		header, err := ReadHeaders(file)
		if (err == nil) != ok || err == nil && len(header) == 0 || err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v, %v", text, header, err)
		}
	}
	if _, err := ReadHeaders("none"); err == nil {
		t.Error("a file that doesn't exist was accepted")
	}
}

// TestFirstMessage queues what happened between the start of the process and the first message.
func TestFirstMessage(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := began
	b := New(Options{Marks: &marks{}, Now: func() time.Time { return now }})
	now = began.Add(10 * time.Second)
	if wanted, err := b.Wants(t.Context(), "a", began.Add(time.Second)); !wanted || err != nil {
		t.Errorf("after the start: %t, %v", wanted, err)
	}
	if wanted, err := b.Wants(t.Context(), "b", began.Add(-time.Second)); wanted || err != nil {
		t.Errorf("before the start: %t, %v", wanted, err)
	}
}
