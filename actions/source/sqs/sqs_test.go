package sqs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/source"
	host "github.com/pequod-io/pequod/test/hosts/sqs"
)

// quick is a backoff for tests.
var quick = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1, Steps: 1}

// receiver records messages.
type receiver struct {
	mu      sync.Mutex
	got     map[string]int
	answer  func(body string, times int) error
	reports []error
}

// start consumes a queue until the test ends.
func start(t *testing.T, q *host.Queue, key string, answer func(body string, times int) error) *receiver {
	t.Helper()
	return consume(t, q.Address(), key, quick, answer)
}

// consume is start for any server.
func consume(t *testing.T, url, key string, backoff wait.Backoff, answer func(body string, times int) error) *receiver {
	t.Helper()
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{got: map[string]int{}, answer: answer}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Options{
			Queue: Queue{
				URL: url, Region: host.Region, Client: egress.New(egress.Options{Allowed: allowed}), Now: time.Now,
				Credentials: func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: host.AccessKey, SecretAccessKey: key}, nil
				},
			},
			Deliver: r.deliver, Backoff: backoff,
			Report: func(err error) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.reports = append(r.reports, err)
			},
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

func (r *receiver) deliver(_ context.Context, m source.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	body := m.Body.(string)
	r.got[body]++
	return r.answer(body, r.got[body])
}

// until waits for a condition.
func until(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !check(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// TestQueue deletes a message only after it has had its effects. One that fails becomes visible
// again, and goes to the dead letters by the redrive policy.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := host.New(t)
	q.SetVisibility(100 * time.Millisecond)
	q.MaxReceives = 3
	for _, body := range []string{"good", "second", "poison"} {
		q.Send(body)
	}
	r := start(t, q, host.SecretKey, func(body string, times int) error {
		switch {
		case body == "poison", body == "second" && times == 1:
			return errors.New("no right")
		}
		return nil
	})
	until(t, "dead letter", func() bool { return len(q.Dead()) == 1 })
	until(t, "deletion", func() bool { _, deleted := q.Counts("second"); return deleted == 1 })
	if dead := q.Dead(); dead[0] != "poison" {
		t.Errorf("dead letters: %v", dead)
	}
	for body, want := range map[string]int{"good": 1, "second": 1, "poison": 0} {
		if _, deleted := q.Counts(body); deleted != want {
			t.Errorf("%s was deleted %d times", body, deleted)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got["good"] < 1 || r.got["second"] < 2 || r.got["poison"] != 3 || q.Refused() != 0 {
		t.Errorf("deliveries: %v, %d refused", r.got, q.Refused())
	}
}

// TestQueueOutage doesn't spend the receptions of a message while the API server is away.
func TestQueueOutage(t *testing.T) {
	t.Parallel()
	q := host.New(t)
	q.MaxReceives = 1
	q.Send("one")
	start(t, q, host.SecretKey, func(_ string, times int) error {
		if times < 5 {
			return &source.Error{Class: source.Unavailable, Message: "away"}
		}
		return nil
	})
	until(t, "deletion", func() bool { _, deleted := q.Counts("one"); return deleted == 1 })
	if received, _ := q.Counts("one"); received != 1 || len(q.Dead()) != 0 {
		t.Errorf("received %d times, dead: %v", received, q.Dead())
	}
}

// TestImpatientServer has servers that don't wait for messages, or send one that fails again at once. They are
// not asked without a pause.
func TestImpatientServer(t *testing.T) {
	t.Parallel()
	const pause = 500 * time.Millisecond
	for name, body := range map[string]string{"no messages": `{}`, "the same message": `{"Messages": [{"MessageId": "1", "Body": "poison"}]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = io.WriteString(w, body) // the client may be gone
			}))
			defer server.Close()
			began := time.Now()
			consume(t, server.URL+"/1/orders", "key", wait.Backoff{Duration: pause, Factor: 1, Steps: 1}, func(string, int) error { return errors.New("no right") })
			until(t, "three requests", func() bool { return asked.Load() >= 3 })
			if took := time.Since(began); took < 2*pause {
				t.Errorf("three requests in %s", took)
			}
		})
	}
}

// TestQueueRefused reports a wrong key without it.
func TestQueueRefused(t *testing.T) {
	t.Parallel()
	q := host.New(t)
	r := start(t, q, "canary-key", func(string, int) error { return nil })
	until(t, "refusal", func() bool { return q.Refused() > 0 })
	until(t, "report", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.reports) > 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := fmt.Sprint(r.reports[0]); !strings.Contains(text, "403 SignatureDoesNotMatch") || strings.Contains(text, "canary") {
		t.Errorf("report: %s", text)
	}
}
