package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/utils/lru"
)

// TestBudget spends a budget. Requests that come too early get turns in their order, and keep them.
func TestBudget(t *testing.T) {
	t.Parallel()
	b, now := &budget{turns: lru.New(maxTurns)}, time.Unix(1e9, 0)
	for i := range pollBurst {
		if at := b.take(fmt.Sprint(i), now); !at.IsZero() {
			t.Fatalf("request %d waits until %s", i, at)
		}
	}
	for i := range 3 {
		want := now.Add(time.Duration(i+1) * pollInterval)
		for range 2 {
			if at := b.take(fmt.Sprint("early", i), now); !at.Equal(want) {
				t.Errorf("request %d has its turn at %s, want %s", i, at, want)
			}
		}
	}
	if at := b.take("early0", now.Add(pollInterval)); !at.IsZero() {
		t.Errorf("the first turn has come, and the request waits until %s", at)
	}
	if at := b.take("new", now.Add(pollInterval)); !at.Equal(now.Add(4 * pollInterval)) {
		t.Errorf("a new request has its turn at %s", at)
	}
}

// TestBusy polls a server more often than the budget allows. No request waits.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	c := client(t, Options{}, "127.0.0.0/8", "http://127.0.0.1")
	for i := range 10 * pollBurst {
		_, err := c.Do(t.Context(), Request{Method: http.MethodGet, URL: fmt.Sprint(s.URL, "/", i), Poll: true})
		if busy := (*Busy)(nil); errors.As(err, &busy) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("the budget isn't limited")
}
