package controller

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// rights tries the graphs again whose accounts lack rights, when roles or bindings change. It
// watches these, with the rights of the applier itself, while there is such a graph. Where it
// may not, the graphs are tried again from time to time only.
type rights struct {
	client    *cluster.Client
	namespace string // of all graphs; empty if they may be in any
	resync    time.Duration
	now       func() time.Time
	wanted    chan struct{} // a graph waits; the buffer holds one

	mu sync.Mutex
	// waiting has the graphs that lack rights, and which changes they know: those until then.
	waiting map[share.Graph]time.Time
	// changed is when roles or bindings changed last while they were watched, by namespace. The
	// empty one has those of the whole cluster.
	changed map[string]time.Time
	ringing bool // ring is about to be called
}

func newRights(client *cluster.Client, o Options, now func() time.Time) *rights {
	return &rights{
		client: client, namespace: o.Namespace, resync: o.Resync, now: now, wanted: make(chan struct{}, 1),
		waiting: map[share.Graph]time.Time{}, changed: map[string]time.Time{},
	}
}

const (
	// rightsLinger is how long the watches stay open after the last graph waited: it is
	// probably being tried again.
	rightsLinger = time.Minute
	// rightsDelay is how long a change is older than the tries that it causes. Roles and bindings
	// are mostly applied together, and the authorizer of the API server watches them, too.
	rightsDelay = 500 * time.Millisecond
)

// await notifies g when rights change. If that happened after since, when its last
// run began, it is notified at once.
func (r *rights) await(g share.Graph, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[g] = since
	select {
	case r.wanted <- struct{}{}:
	default:
	}
	if r.changedFor(g).After(since) {
		r.ringSoon()
	}
}

// drop ends await.
func (r *rights) drop(g share.Graph) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, g)
}

// run watches whenever a graph waits, until ctx is done.
func (r *rights) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
			r.watch(ctx)
		}
	}
}

// watch watches roles and bindings while graphs wait.
func (r *rights) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	for kind, namespace := range map[string]string{"Role": r.namespace, "RoleBinding": r.namespace, "ClusterRole": "", "ClusterRoleBinding": ""} {
		s := cluster.Selection{GVK: rbacv1.SchemeGroupVersion.WithKind(kind), Namespace: namespace}
		watches.Go(func() { r.follow(ctx, s) })
	}
	for idle := false; !idle; {
		select {
		case <-ctx.Done():
			idle = true
		case <-time.After(rightsLinger):
			idle = r.forgetIdle()
		}
	}
	cancel()
	watches.Wait()
}

// forgetIdle reports whether no graph has waited since the last call. It then forgets the changes.
func (r *rights) forgetIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.wanted:
		return false
	default:
	}
	if len(r.waiting) > 0 {
		return false
	}
	clear(r.changed)
	return true
}

// follow watches the objects of a selection until ctx is done. What was there before the first
// list was there for the tries before it, which are soon repeated. Any later list also shows what
// a watch has missed: the objects with newer versions.
func (r *rights) follow(ctx context.Context, s cluster.Selection) {
	newest := "" // version that was seen
	missed := func(o *unstructured.Unstructured) (keep bool) {
		if newest != "" && resourceversion.Older(newest, o.GetResourceVersion()) {
			r.note(o.GetNamespace())
		}
		return false
	}
	for ctx.Err() == nil {
		err := r.client.ListAndWatch(ctx, s, missed, func(e cluster.Event) bool {
			if e.Listing != nil {
				newest = e.Listing.ResourceVersion
				return true
			}
			newest = e.Object.GetResourceVersion()
			r.note(e.Object.GetNamespace())
			return true
		})
		pause := share.MaxPause
		if apierrors.IsForbidden(err) {
			pause = r.resync
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// note records a change of rights in a namespace, or anywhere if it is empty.
func (r *rights) note(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed[namespace] = r.now()
	r.ringSoon()
}

// ringSoon calls ring after a while. The caller holds r.mu.
func (r *rights) ringSoon() {
	if !r.ringing {
		r.ringing = true
		time.AfterFunc(rightsDelay, r.ring)
	}
}

// ring notifies the graphs that wait for what has changed.
func (r *rights) ring() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ringing = false
	for g, known := range r.waiting {
		if changed := r.changedFor(g); changed.After(known) {
			r.waiting[g] = changed
			g.Notify(share.Observation{Type: share.RightsChanged})
		}
	}
}

// changedFor returns when rights of the account of g may have changed. The caller holds r.mu.
func (r *rights) changedFor(g share.Graph) time.Time {
	there, everywhere := r.changed[g.Owner().Namespace], r.changed[""]
	if there.After(everywhere) {
		return there
	}
	return everywhere
}
