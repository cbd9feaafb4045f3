package share

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// Graphs that ask while a read is in flight are answered together by the next one, which
// waits for graphs that are about to begin and ask, too.
func TestReadsAreShared(t *testing.T) {
	const graphs = minShared - 1 // that begin, besides one that waits already
	p, _ := startedPool(t, 1)
	account := reader{Account{Namespace: "shop", Name: "pequod"}, "shop"}
	var count atomic.Int32
	began, release := make(chan struct{}), make(chan struct{})
	reads := newReads(p, func(context.Context, string, *cluster.Client) (int, error) {
		if count.Add(1) == 1 {
			close(began)
			<-release
		}
		return 0, nil
	}, logr.Discard())
	var answers sync.WaitGroup
	ask := func() { reads.ask(account, nil, func(int, error) { answers.Done() }) }
	answers.Add(graphs + 2)
	ask()
	<-began
	ask()
	for range graphs {
		p.beginWork(&fakeGraph{owner: inventory.Owner{Namespace: "shop"}}, job(ask))
	}
	close(release)
	answers.Wait()
	if n := count.Load(); n != 2 {
		t.Errorf("%d reads for %d graphs; want the one in flight and another one", n, graphs+2)
	}
}
