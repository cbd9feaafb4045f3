package shards

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// shardLease returns the name of the Lease of a shard.
func (o *Options) shardLease(shard int) string { return o.Lease + "-shard-" + strconv.Itoa(shard) }

// memberPrefix is how the names of the Leases of replicas with the same layout begin.
func (o *Options) memberPrefix() string { return o.Lease + "-member-" + strconv.Itoa(o.Count) + "-" }

// layout returns the holder of the layout.
func (o *Options) layout() string { return strconv.Itoa(o.Count) + "-shards" }

// lock returns the lock of a Lease.
func (o *Options) lock(name, holder string) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name},
		Client:    o.Client, Labels: o.Labels,
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder},
	}
}

// record returns the content of a Lease that a holder acquires or, if it is empty, releases.
func (o *Options) record(holder string) resourcelock.LeaderElectionRecord {
	now := metav1.Now()
	return resourcelock.LeaderElectionRecord{
		HolderIdentity: holder, LeaseDurationSeconds: int(o.Duration / time.Second), AcquireTime: now, RenewTime: now,
	}
}

// observation is the version of a Lease, and since when it is known.
type observation struct {
	version string
	since   time.Time
}

// observed are the Leases of a program as a replica has seen them last.
type observed struct {
	leases map[string]*coordinationv1.Lease // by name
	seen   map[string]observation
	// sharded is set if the API server knows selectors of shards.
	sharded atomic.Bool
}

// read reads the Leases.
func (o *observed) read(ctx context.Context, of *Options) error {
	// The selector is that of all objects. A server that knows it says so in the list; it does not in
	// lists of custom resources.
	list, err := of.Client.Leases(of.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(of.Labels).String(), ShardSelector: selector([]int{0}, 1),
	})
	if err != nil {
		return err
	}
	o.sharded.Store(list.ShardInfo != nil)
	now, seen := time.Now(), make(map[string]observation, len(list.Items))
	o.leases = make(map[string]*coordinationv1.Lease, len(list.Items))
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Name != of.Lease && !strings.HasPrefix(lease.Name, of.Lease+"-") {
			continue
		}
		o.leases[lease.Name] = lease
		seen[lease.Name] = observation{lease.ResourceVersion, now}
		if before := o.seen[lease.Name]; before.version == lease.ResourceVersion {
			seen[lease.Name] = before
		}
	}
	o.seen = seen
	return nil
}

// expired reports whether a Lease wasn't renewed in time.
func (o *observed) expired(lease *coordinationv1.Lease) bool {
	seconds := lease.Spec.LeaseDurationSeconds
	return seconds == nil || time.Since(o.seen[lease.Name].since) > time.Duration(*seconds)*time.Second
}

// holder returns the live holder of a Lease, or "".
func (o *observed) holder(name string) string {
	lease := o.leases[name]
	if lease == nil || lease.Spec.HolderIdentity == nil || o.expired(lease) {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// state returns who holds which shards.
func (o *observed) state(of *Options) state {
	s := state{held: map[string]int{}, count: of.Count}
	for name := range o.leases {
		if holder := o.holder(name); holder != "" && strings.HasPrefix(name, of.memberPrefix()) {
			s.held[holder] = 0
		}
	}
	for shard := range of.Count {
		holder := o.holder(of.shardLease(shard))
		if holder == "" {
			s.free = append(s.free, shard)
		} else if _, live := s.held[holder]; live {
			s.held[holder]++
		}
	}
	return s
}

// claim makes a replica the holder of a free shard, unless the Lease was changed after it was
// read.
func (o *observed) claim(ctx context.Context, of *Options, shard int, holder string) error {
	name, record := of.shardLease(shard), of.record(holder)
	lease := o.leases[name]
	if lease == nil {
		return of.lock(name, holder).Create(ctx, record)
	}
	if lease.Spec.LeaseTransitions != nil {
		record.LeaderTransitions = int(*lease.Spec.LeaseTransitions) + 1
	}
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	_, err := of.Client.Leases(of.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// removeExpired deletes the Leases of replicas that were killed. A replica that is only late
// makes its Lease again.
func (o *observed) removeExpired(ctx context.Context, of *Options) error {
	for name, lease := range o.leases {
		if !strings.HasPrefix(name, of.Lease+"-member-") || !o.expired(lease) {
			continue
		}
		unchanged := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &lease.ResourceVersion}}
		err := of.Client.Leases(of.Namespace).Delete(ctx, name, unchanged)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
