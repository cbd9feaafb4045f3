package instances

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxWaiting is the number of requests for one platform that may wait at a time. More of them
// fail at once: a module that evaluates for long must not fill the server. Usual modules
// evaluate as many in two seconds.
const maxWaiting = 512

// busy counts the requests in progress by platform.
type busy struct {
	mu    sync.Mutex
	count map[types.NamespacedName]int
}

func newBusy() *busy { return &busy{count: map[types.NamespacedName]int{}} }

// enter begins a request for the platform of a Transform. The caller must call leave.
func (b *busy) enter(transform types.NamespacedName) (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count[transform] >= maxWaiting {
		return nil, fmt.Errorf("%d others are being checked", maxWaiting)
	}
	b.count[transform]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.count[transform]--; b.count[transform] == 0 {
			delete(b.count, transform)
		}
	}, nil
}
