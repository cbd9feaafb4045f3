package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/operator/worker"
)

// TestCorrupt changes the sources on disk. A process that starts must not use them.
func TestCorrupt(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"changed":   func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"truncated": func(path string) error { return os.Truncate(path, 10) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, "worker", worker.Options{Timeout: time.Minute, Idle: time.Millisecond})
			key, data := sources(t, "shop", inlined(hostile))
			if _, err := pool.Load(t.Context(), key, data); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error { return processes(pool, 0) })
			if err := change(pool.Path(key.Digest)); err != nil {
				t.Fatal(err)
			}
			if err := fine(t.Context(), pool, key, 1); !errors.Is(err, worker.ErrNotLoaded) {
				t.Errorf("got %v, want %v", err, worker.ErrNotLoaded)
			}
			if _, err := pool.Load(t.Context(), key, data); err != nil {
				t.Fatal(err)
			}
			if err := fine(t.Context(), pool, key, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongDigest(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{})
	key, _ := sources(t, "shop", inlined(hostile))
	if _, err := pool.Load(t.Context(), key, []byte("other")); err == nil {
		t.Error("sources with another digest were loaded")
	}
	if err := fine(t.Context(), pool, key, 1); !errors.Is(err, worker.ErrNotLoaded) {
		t.Errorf("got %v, want %v", err, worker.ErrNotLoaded)
	}
}

// processes returns an error unless the pool has a number of processes.
func processes(pool *worker.Pool, want int) error {
	if ids := pool.IDs(); len(ids) != want {
		return fmt.Errorf("%d processes; want %d", len(ids), want)
	}
	return nil
}

// eventually waits until f returns nil.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// counts records metrics.
type counts struct {
	mu                sync.Mutex
	most, now, starts int
	rendered          map[string]int
	failed            map[string]int
}

func (c *counts) Rendered(platform string, _ time.Duration, errorType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rendered == nil {
		c.rendered = map[string]int{}
	}
	c.rendered[platform+" "+errorType]++
}

func (c *counts) Processes(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.now {
		c.starts++
	}
	c.now = n
	c.most = max(c.most, n)
}

func (c *counts) Failed(platform, errorType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]int{}
	}
	c.failed[platform+" "+errorType]++
}

func (c *counts) Forgotten(string) {}

// TestProcesses uses more platforms than there may be processes. A platform keeps its process for a while, although
// the others wait for it, and its queue is often empty.
func TestProcesses(t *testing.T) {
	metrics := &counts{}
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute, Evaluations: 2, Processes: 3, Metrics: metrics})
	var all sync.WaitGroup
	loaded := make(chan struct{})
	for i := range 6 {
		key, _ := load(t, pool, fmt.Sprintf("shop-%d", i), inlined(hostile))
		all.Go(func() {
			<-loaded
			for n := range 20 {
				if err := fine(t.Context(), pool, key, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(loaded)
	all.Wait()
	if metrics.most != 3 {
		t.Errorf("there were up to %d processes; want 3", metrics.most)
	}
	// Six for loading, and six to twelve for rendering; more if it takes longer than a quantum.
	if metrics.starts > 40 {
		t.Errorf("%d processes were started for 126 evaluations", metrics.starts)
	}
	want := map[string]int{}
	for i := range 6 {
		want[fmt.Sprintf("pequod-system/shop-%d ", i)] = 20
	}
	if diff := cmp.Diff(want, metrics.rendered); diff != "" {
		t.Errorf("renderings:\n%s", diff)
	}
}

// TestLongQueue has a platform with more evaluations than a process does, and one with few.
func TestLongQueue(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute, Evaluations: 2})
	long, _ := load(t, pool, "long", inlined(hostile))
	short, _ := load(t, pool, "short", inlined(hostile))
	var grown atomic.Bool
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := 0; n < 20_000 && !grown.Load() && !t.Failed(); n++ {
				if err := fine(t.Context(), pool, long, i); err != nil {
					t.Error(err)
				}
				if len(pool.IDs()) > 2 {
					grown.Store(true)
				}
			}
		})
	}
	all.Wait()
	if !grown.Load() {
		t.Error("the long queue has one process")
	}
	pool.Forget(long.Transform)
	for n := range 50 {
		if err := fine(t.Context(), pool, short, n); err != nil {
			t.Error(err)
		}
	}
	eventually(t, func() error { return processes(pool, 1) })
}

// TestLongEvaluation checks that an evaluation that takes long doesn't keep the other instances of its platform waiting.
func TestLongEvaluation(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour})
	key, _ := load(t, pool, "shop", inlined(hostile))
	ended := make(chan error, 1)
	go func() {
		_, err := pool.Render(context.WithoutCancel(t.Context()), key, shop("a", "time"), "default")
		ended <- err
	}()
	eventually(t, func() error {
		if _, busy := pool.Calls(key); !busy {
			return errors.New("nothing is evaluated")
		}
		return nil
	})
	for n := range 10 {
		if err := fine(t.Context(), pool, key, n); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the evaluation that takes long has ended: %v", err)
	default:
	}
}

// TestForget checks that nothing of a Transform is left, and that its calls fail.
func TestForget(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour})
	key, _ := load(t, pool, "shop", inlined(hostile))
	other, _ := load(t, pool, "other", inlined(hostile))
	results := make(chan error, 2)
	for range 2 { // one is evaluated, the other waits
		go func() {
			_, err := pool.Render(t.Context(), key, shop("a", "time"), "default")
			results <- err
		}()
	}
	eventually(t, func() error { return calls(pool, key, 1) })
	pool.Forget(key.Transform)
	for range 2 {
		if err := <-results; !errors.Is(err, worker.ErrNotLoaded) {
			t.Errorf("got %v, want %v", err, worker.ErrNotLoaded)
		}
	}
	eventually(t, func() error { return processes(pool, 1) })
	if _, err := os.Stat(pool.Path(key.Digest)); !os.IsNotExist(err) {
		t.Errorf("its sources: %v", err)
	}
	if err := fine(t.Context(), pool, other, 1); err != nil {
		t.Error(err)
	}
}

// TestClose checks that calls end with the pool.
func TestClose(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour})
	key, _ := load(t, pool, "shop", inlined(hostile))
	ids := pool.IDs()
	result := make(chan error)
	go func() {
		_, err := pool.Render(t.Context(), key, shop("a", "time"), "default")
		result <- err
	}()
	eventually(t, func() error { return calls(pool, key, 0) })
	pool.Close()
	if err := <-result; !errors.Is(err, worker.ErrClosed) {
		t.Errorf("got %v, want %v", err, worker.ErrClosed)
	}
	for _, id := range ids {
		if exists(id) {
			t.Errorf("process %d is still there", id)
		}
	}
}

// TestCanceledCallers checks that a call whose caller has gone is not evaluated.
func TestCanceledCallers(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour})
	key, _ := load(t, pool, "shop", inlined(hostile))
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 10)
	for range 10 {
		go func() {
			_, err := pool.Render(ctx, key, shop("a", "time"), "default")
			results <- err
		}()
	}
	eventually(t, func() error { return calls(pool, key, 9) })
	cancel()
	for range 10 {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
	if err := calls(pool, key, 0); err != nil {
		t.Error(err)
	}
}

// calls returns an error unless a platform evaluates and has a number of calls that wait.
func calls(pool *worker.Pool, key worker.Key, want int) error {
	if waiting, busy := pool.Calls(key); waiting != want || !busy {
		return fmt.Errorf("%d calls wait, one is evaluated: %t; want %d, true", waiting, busy, want)
	}
	return nil
}

// TestTurns checks that platforms alternate, whatever the number of their calls, and that urgent
// calls come first.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		calls  map[string]int
		failed map[string]bool
		order  []string
		want   []string
	}{
		"alternating": {map[string]int{"many": 5, "one": 1, "two": 2}, nil, []string{"many", "one", "two"},
			[]string{"many", "one", "two", "many", "two", "many", "many", "many"}},
		"urgent": {map[string]int{"many": 3, "urgent": 2, "urgent too": 1}, nil, []string{"many", "urgent", "urgent too"},
			[]string{"urgent", "urgent too", "urgent", "many", "many", "many"}},
		"failed": {map[string]int{"failed": 2, "good": 1}, map[string]bool{"failed": true}, []string{"failed", "good"},
			[]string{"failed", "good", "failed"}},
	} {
		if diff := cmp.Diff(c.want, worker.Turns(c.calls, c.failed, c.order)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestContents checks that the pool keeps a bounded number of contents of a Transform, and
// which.
func TestContents(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute, Processes: 2, Evaluations: 1})
	var keys []worker.Key
	for n := range 17 {
		if n == 16 { // the first was used after the second
			if err := fine(t.Context(), pool, keys[0], 1); err != nil {
				t.Fatal(err)
			}
		}
		key, _ := load(t, pool, "shop", inlined(fmt.Sprintf("%s// %d\n", hostile, n)))
		keys = append(keys, key)
	}
	for n, key := range keys {
		err := fine(t.Context(), pool, key, 1)
		_, missing := os.Stat(pool.Path(key.Digest))
		if forgotten := errors.Is(err, worker.ErrNotLoaded) && os.IsNotExist(missing); forgotten != (n == 1) || err != nil && !forgotten {
			t.Errorf("content %d: %v; its file: %v", n, err, missing)
		}
	}
}
