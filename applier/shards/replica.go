package shards

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options configure a replica. All replicas need the same ones.
type Options struct {
	// Count is the number of shards.
	Count int
	// Lease is the name of the layout. The names of all other Leases begin with it.
	Lease string
	// Namespace is that of the Leases.
	Namespace string
	// Labels of the Leases, by which they are found.
	Labels map[string]string
	// Duration is how long a Lease is valid after it was renewed, in whole seconds. A replica
	// renews its Leases and looks at those of others every Retry. It stops if it can't renew one
	// for Deadline. If Duration is 0, they are the 15, 10 and 2 seconds of Kubernetes.
	Duration, Deadline, Retry time.Duration
	// Client reads and writes the Leases. New makes one.
	Client coordinationv1client.LeasesGetter
	Log    logr.Logger
}

// Work starts and ends the work on the objects of a shard. Both methods may be called by any
// goroutine.
type Work interface {
	// Take begins the work on a shard. It doesn't block.
	Take(shard int)
	// Leave ends the work on a shard. It returns when nothing is in flight any more, and when ctx
	// is done.
	Leave(ctx context.Context, shard int)
}

// Replica is one of several replicas that divide objects among them.
type Replica struct {
	Options
	identity string
	member   *resourcelock.LeaseLock // of this replica
	holders  sync.WaitGroup          // of Leases

	// Only Run uses them, but for observed.sharded.
	observed observed
	waitsFor string // the holder of the layout, while it isn't this replica

	mu   sync.Mutex
	laid bool // the layout is held
	held map[int]*holding
}

// holding is a shard whose Lease this replica holds.
type holding struct {
	taken, leaving bool
	release        context.CancelFunc
}

// New returns a replica. Config is the access to the cluster, unless the options have a client.
func New(config *rest.Config, o Options) (*Replica, error) {
	if o.Duration <= 0 {
		o.Duration, o.Deadline, o.Retry = 15*time.Second, 10*time.Second, 2*time.Second
	}
	if o.Client == nil {
		config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
		// A request that hangs must leave time for another one.
		config.Timeout = max(o.Deadline/2, time.Second)
		client, err := coordinationv1client.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		o.Client = client
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	id := string(uuid.NewUUID())
	r := &Replica{Options: o, identity: host + "_" + id, held: map[int]*holding{}}
	r.member = r.lock(o.memberPrefix()+id, r.identity)
	return r, nil
}

// Of returns the shard of an object.
func (r *Replica) Of(uid types.UID) int { return Of(uid, r.Count) }

// Selector returns the selector of the objects of shards, which are sorted, for lists and watches. It
// is "" if the API server doesn't know such selectors.
func (r *Replica) Selector(shards []int) string {
	if !r.observed.sharded.Load() {
		return ""
	}
	return selector(shards, r.Count)
}

// Run holds the share of this replica until ctx is done, and then releases it. Nothing may be in
// flight then. If a Lease can't be renewed in time, Run returns an error at once and releases
// nothing: the work must stop before the Lease expires.
func (r *Replica) Run(ctx context.Context, work Work) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	for announced := false; ; {
		if err := r.renewMember(ctx); err != nil && ctx.Err() == nil {
			r.Log.Info("renewing the lease of this replica", "error", err.Error())
		} else if !announced && err == nil {
			// A replica that ends releases the layout unless it sees another one.
			announced = true
			r.holders.Go(func() { r.holdLayout(ctx, lose) })
		}
		if err := r.balance(ctx, lose, work); err != nil && ctx.Err() == nil {
			r.Log.Info("balancing the shards", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, errLost) {
				return err
			}
			r.end(context.WithoutCancel(ctx))
			return nil
		case <-time.After(r.Retry):
		}
	}
}

// errLost means that another replica may hold a Lease of this one.
var errLost = errors.New("leader election lost")

// renewMember renews the Lease of this replica, by which the others count it.
func (r *Replica) renewMember(ctx context.Context) error {
	record := r.record(r.identity)
	if r.member.Update(ctx, record) == nil {
		return nil
	}
	// It doesn't exist yet, or the answer to an earlier update was lost.
	_, _, err := r.member.Get(ctx)
	if apierrors.IsNotFound(err) {
		return r.member.Create(ctx, record)
	}
	if err != nil {
		return err
	}
	return r.member.Update(ctx, record)
}

// holdLayout acquires the layout and renews it until ctx is done.
func (r *Replica) holdLayout(ctx context.Context, lose context.CancelCauseFunc) {
	r.hold(ctx, lose, r.lock(r.Lease, r.layout()), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.laid = true
	})
}

// hold acquires a Lease and renews it until ctx is done. It never releases it. Acquired is called
// unless the Lease is lost first.
func (r *Replica) hold(ctx context.Context, lose context.CancelCauseFunc, lock *resourcelock.LeaseLock, acquired func()) {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: lock.LeaseMeta.Name,
		LeaseDuration: r.Duration, RenewDeadline: r.Deadline, RetryPeriod: r.Retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					acquired()
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		lose(err)
		return
	}
	elector.Run(logr.NewContext(ctx, r.Log))
	if ctx.Err() == nil {
		r.Log.Info("a lease couldn't be renewed in time", "lease", lock.LeaseMeta.Name)
		lose(errLost)
	}
}

// balance looks at all Leases, and takes shards or gives some up.
func (r *Replica) balance(ctx context.Context, lose context.CancelCauseFunc, work Work) error {
	if err := r.observed.read(ctx, &r.Options); err != nil {
		return err
	}
	r.mu.Lock()
	laid := r.laid
	r.mu.Unlock()
	if holder := r.observed.holder(r.Lease); !laid {
		if holder != "" && holder != r.layout() && holder != r.waitsFor {
			r.Log.Info("waiting until the lease has expired: another replica divides the graphs in another way", "lease", r.Lease, "holder", holder)
		}
		r.waitsFor = holder
		return nil
	}
	state := r.observed.state(&r.Options)
	take, giveUp := state.plan(r.identity)
	if r.leave(ctx, giveUp, work); giveUp > 0 {
		return nil
	}
	var errs []error
	for _, shard := range take {
		if err := r.take(ctx, lose, shard, work); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, r.observed.removeExpired(ctx, &r.Options))...)
}

// take takes a free shard, unless another replica is faster.
func (r *Replica) take(ctx context.Context, lose context.CancelCauseFunc, shard int, work Work) error {
	r.mu.Lock()
	releasing := r.held[shard] != nil
	r.mu.Unlock()
	if releasing {
		return nil
	}
	err := r.observed.claim(ctx, &r.Options, shard, r.identity)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	held, release := context.WithCancel(ctx)
	holding := &holding{release: release}
	r.mu.Lock()
	r.held[shard] = holding
	r.mu.Unlock()
	r.holders.Go(func() { r.holdShard(held, lose, shard, holding, work) })
	return nil
}

// holdShard holds a shard that was taken until ctx is done, and then releases it.
func (r *Replica) holdShard(ctx context.Context, lose context.CancelCauseFunc, shard int, h *holding, work Work) {
	defer h.release()
	lock := r.lock(r.shardLease(shard), r.identity)
	// Until the Lease is renewed for the first time, it may expire unnoticed.
	late := time.AfterFunc(r.Deadline, h.release)
	r.hold(ctx, lose, lock, func() {
		if !late.Stop() {
			return
		}
		r.Log.Info("executing a shard", "shard", shard)
		work.Take(shard)
		// It isn't given up before, see leave.
		r.mu.Lock()
		h.taken = true
		r.mu.Unlock()
	})
	if errors.Is(context.Cause(ctx), errLost) {
		return
	}
	if err := r.release(context.WithoutCancel(ctx), lock); err != nil {
		r.Log.Info("releasing a shard", "shard", shard, "error", err.Error())
	}
	r.mu.Lock()
	delete(r.held, shard)
	r.mu.Unlock()
}

// release releases a Lease if this replica holds it.
func (r *Replica) release(ctx context.Context, lock *resourcelock.LeaseLock) error {
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return err
	}
	released := r.record("")
	released.LeaderTransitions = record.LeaderTransitions
	return lock.Update(ctx, released)
}

// leave gives up a number of shards, those that are being given up included. Each is released
// when its work has ended.
func (r *Replica) leave(ctx context.Context, number int, work Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		if h.leaving {
			number--
		}
	}
	for shard := r.Count - 1; shard >= 0 && number > 0; shard-- {
		h := r.held[shard]
		if h == nil || !h.taken || h.leaving {
			continue
		}
		number--
		h.leaving = true
		go func() {
			work.Leave(ctx, shard)
			r.Log.Info("giving up a shard", "shard", shard)
			h.release()
		}()
	}
}

// end waits until the shards are released, and removes what is left of this replica. The last one
// releases the layout.
func (r *Replica) end(ctx context.Context) {
	r.holders.Wait()
	err := r.Client.Leases(r.Namespace).Delete(ctx, r.member.LeaseMeta.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		r.Log.Info("deleting the lease of this replica", "error", err.Error())
		return
	}
	// A replica that begins later renews the layout after its own Lease, so either it is seen
	// here or the release is in conflict.
	lock := r.lock(r.Lease, r.layout())
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != r.layout() || r.observed.read(ctx, &r.Options) != nil {
		return
	}
	for name := range r.observed.leases {
		if name != r.Lease && r.observed.holder(name) != "" {
			return
		}
	}
	if err := lock.Update(ctx, r.record("")); err != nil && !apierrors.IsConflict(err) {
		r.Log.Info("releasing the layout", "error", err.Error())
	}
}
