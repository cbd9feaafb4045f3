package worker_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pequod-io/pequod/operator/worker"
)

// TestBudget evaluates more modules at once than there is memory for. Each may use all that one
// evaluation may.
func TestBudget(t *testing.T) {
	const memory = 512 << 20
	pool := newPool(t, "worker", worker.Options{Evaluations: 6, Memory: memory, Budget: 2 * memory, Timeout: 2 * time.Second, Backoff: time.Millisecond})
	var keys []worker.Key
	for i := range 6 {
		key, data := sources(t, fmt.Sprint("shop-", i), inlined(hostile))
		if _, err := pool.Load(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	var calls sync.WaitGroup
	for _, key := range keys {
		calls.Go(func() {
			// It ends by its limit of time.
			if _, err := pool.Render(t.Context(), key, shop("a", "time"), "default"); err == nil {
				t.Error("an evaluation without an end ended")
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		calls.Wait()
		close(ended)
	}()
	most := 0
	for running := true; running; {
		busy := 0
		for _, key := range keys {
			if _, evaluates := pool.Calls(key); evaluates {
				busy++
			}
		}
		most = max(most, busy)
		select {
		case <-ended:
			running = false
		case <-time.After(time.Millisecond):
		}
	}
	if most != 2 {
		t.Errorf("%d evaluations at once; want 2", most)
	}
}

// TestBudgetOfIdle has no room for a process that waits beside an evaluation.
func TestBudgetOfIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of other processes is known on Linux")
	}
	const memory = 512 << 20
	pool := newPool(t, "worker", worker.Options{Memory: memory, Budget: memory + 1<<20})
	for i := range 3 {
		key, data := sources(t, fmt.Sprint("shop-", i), inlined(hostile))
		if _, err := pool.Load(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
		if err := processes(pool, 1); err != nil {
			t.Error(err)
		}
	}
}
