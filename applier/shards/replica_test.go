package shards

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// TestConfigIsKept checks that the timeout of requests for Leases isn't that of all other requests,
// such as watches.
func TestConfigIsKept(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "test"}
	if _, err := New(config, Options{Count: 2, Lease: "test"}); err != nil {
		t.Fatal(err)
	}
	if config.Timeout != 0 || config.UserAgent != "test" {
		t.Errorf("the configuration has the timeout %s and the user agent %q", config.Timeout, config.UserAgent)
	}
}

// oneLease is a client that stores one Lease.
type oneLease struct {
	coordinationv1client.LeaseInterface
	mu     sync.Mutex
	stored *coordinationv1.Lease
}

func (c *oneLease) Leases(string) coordinationv1client.LeaseInterface { return c }

func (c *oneLease) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "")
	}
	return c.stored.DeepCopy(), nil
}

func (c *oneLease) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = lease.DeepCopy()
	return lease, nil
}

func (c *oneLease) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return c.Create(ctx, lease, metav1.CreateOptions{})
}

// taker is work that a replica tries to give up while it begins.
type taker struct {
	r     *Replica
	took  bool
	early bool // it was given up before it had begun
}

func (w *taker) Take(shard int) {
	w.r.leave(context.Background(), 1, w)
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.took, w.early = true, w.r.held[shard].leaving
}

func (*taker) Leave(context.Context, int) {}

// TestShardIsTakenBeforeItIsLeft has a replica give up a shard at the moment at which it takes it.
// It would otherwise work on the shard without the Lease.
func TestShardIsTakenBeforeItIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(nil, Options{Count: 2, Lease: "test", Client: &oneLease{}, Log: logr.Discard()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		h, work := &holding{release: cancel}, &taker{r: r}
		r.held[1] = h
		go r.holdShard(ctx, func(error) {}, 1, h, work)
		synctest.Wait()
		if !work.took || work.early {
			t.Errorf("taken: %t, left before: %t", work.took, work.early)
		}
		r.leave(ctx, 1, work)
		<-ctx.Done()
		synctest.Wait()
	})
}
