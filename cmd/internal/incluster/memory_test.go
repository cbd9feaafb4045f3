package incluster_test

import (
	"sync"
	"testing"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
)

// TestFreeMemory checks that pools, which survive one garbage collection, are emptied.
func TestFreeMemory(t *testing.T) {
	var pool sync.Pool
	pool.Put(new([1 << 20]byte))
	incluster.FreeMemory()
	if pool.Get() != nil {
		t.Error("the pool has its buffer still")
	}
}
