package follow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/operator/worker"
)

const (
	// patience is the time after the start before anything is loaded. A replica that becomes
	// the leader by then loads all by itself.
	patience = 3 * time.Second
	// retryAfter is the pause before sources are looked for again that are missing: informers
	// may show the status before them.
	retryAfter = 2 * time.Second
)

// Options configure [Setup]. All fields but Policies are required.
type Options struct {
	// Catalog gets the platforms.
	Catalog   *catalog.Catalog
	Revisions revision.Store
	// Policies identifies the policies of the organization, as [catalog.Entry] has it.
	Policies string
	Loader   transform.Loader
	// Allowed reports whether Transforms of a namespace are used.
	Allowed func(namespace string) bool
}

// Setup adds a follower to a manager, with a readiness check: a replica is ready when it has
// tried to load all platforms. It ends when the replica becomes the leader.
func Setup(m manager.Manager, o Options) error {
	f := &follower{Options: o, client: m.GetClient(), elected: m.Elected(), tried: map[types.NamespacedName]bool{}, begin: time.Now().Add(patience)}
	c, err := controller.New("follower", m, controller.Options{
		Reconciler: f, NeedLeaderElection: new(false), MaxConcurrentReconciles: 2, SkipNameValidation: new(true),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind(m.GetCache(), &v1alpha1.Transform{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Transform]{})); err != nil {
		return err
	}
	return m.AddReadyzCheck("platforms", f.ready)
}

// follower reconciles Transforms.
type follower struct {
	Options
	client  client.Client
	elected <-chan struct{}
	begin   time.Time

	mu    sync.Mutex
	tried map[types.NamespacedName]bool
}

// leads reports whether the replica is the leader.
func (f *follower) leads() bool {
	select {
	case <-f.elected:
		return true
	default:
		return false
	}
}

// Reconcile lists the platform of a Transform as its status describes it.
func (f *follower) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.Transform{}
	err := f.client.Get(ctx, request.NamespacedName, t)
	switch {
	case apierrors.IsNotFound(err), err == nil && (!t.DeletionTimestamp.IsZero() || !f.Allowed(t.Namespace)):
		f.Catalog.Delete(request.NamespacedName)
		if !f.leads() { // the leader's controllers share the processes
			f.Loader.Forget(request.NamespacedName)
		}
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case f.leads() || t.Status.GeneratedCRD == "" || t.Status.ResolvedCueRef == nil:
		return reconcile.Result{}, nil
	}
	if wait := time.Until(f.begin); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	defer f.try(request.NamespacedName)
	return f.load(ctx, t)
}

// load loads the content that the leader uses, unless that was done.
func (f *follower) load(ctx context.Context, t *v1alpha1.Transform) (reconcile.Result, error) {
	key, resolved := client.ObjectKeyFromObject(t), t.Status.ResolvedCueRef
	versions, err := f.Revisions.List(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	i := slices.IndexFunc(versions, func(v catalog.Version) bool { return v.Module.Digest == resolved.Digest && v.Policies == f.Policies })
	if i < 0 {
		f.Catalog.Delete(key)
		return reconcile.Result{RequeueAfter: retryAfter}, nil
	}
	v := versions[i]
	e := &catalog.Entry{
		Transform: key, UID: t.UID, Generation: t.Generation, Digest: v.Digest, Module: v.Module, Policies: v.Policies,
		IgnoresLabels: v.IgnoresLabels, IgnoresAnnotations: v.IgnoresAnnotations, Others: slices.Delete(versions, i, i+1), Rollout: t.Spec.Rollout,
	}
	if old := f.Catalog.Of(key); old != nil && old.UID == t.UID && old.Digest == v.Digest {
		e.Sources, e.Names = old.Sources, old.Names
		f.Catalog.Set(e)
		return reconcile.Result{}, nil
	}
	if e.Sources, err = f.Revisions.Read(ctx, key, v.Digest); err != nil {
		return reconcile.Result{}, err
	}
	loaded, err := f.Loader.Load(ctx, worker.Key{Transform: key, Digest: v.Digest}, e.Sources)
	if err != nil {
		return reconcile.Result{}, err
	}
	e.Names = loaded.Names
	f.Catalog.Set(e)
	return reconcile.Result{}, nil
}

// try notes that the platform of a Transform was loaded, or could not be.
func (f *follower) try(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried[key] = true
}

// ready returns an error until all platforms have been tried.
func (f *follower) ready(r *http.Request) error {
	if f.leads() {
		return nil
	}
	if time.Now().Before(f.begin) {
		return errors.New("the platforms aren't loaded yet")
	}
	var all v1alpha1.TransformList
	if err := f.client.List(r.Context(), &all); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range all.Items {
		if key := client.ObjectKeyFromObject(&t); t.Status.ResolvedCueRef != nil && t.DeletionTimestamp.IsZero() && f.Allowed(t.Namespace) && !f.tried[key] {
			return fmt.Errorf("the platform of Transform %s isn't loaded yet", key)
		}
	}
	return nil
}
