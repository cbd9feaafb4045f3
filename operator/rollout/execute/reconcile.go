package execute

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/rollout"
	"github.com/pequod-io/pequod/operator/rollout/board"
)

// Options configure [Setup]. Catalog, Board and Revisions are required.
type Options struct {
	// Catalog lists the platforms, and Board has the controllers of their instances.
	Catalog *catalog.Catalog
	Board   *board.Board
	// Revisions has the versions that instances may have.
	Revisions revision.Store
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}

// Changes of instances are gathered before a decision, which looks at all of them: ten times as long as the
// last one took, so that decisions need little of a processor, but within these bounds.
const minGather, maxGather = 100 * time.Millisecond, time.Second

// progressPause is the least time after a write of a status before one that only shows progress.
const progressPause = 5 * time.Second

// Setup adds the controller to a manager, whose cache must have Transforms.
func Setup(mgr manager.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &reconciler{Options: o, client: mgr.GetClient(), events: mgr.GetEventRecorder(v1alpha1.ManagerProgram), written: map[types.NamespacedName]write{}, took: map[types.NamespacedName]time.Duration{}}
	c, err := controller.New("rollout", mgr, reconciling.Options(r, 4, 50*time.Millisecond, time.Minute))
	if err != nil {
		return err
	}
	changes := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.enqueue = func(transform types.NamespacedName) {
			queue.AddAfter(reconcile.Request{NamespacedName: transform}, r.gather(transform))
		}
		o.Board.OnChange(func(kind schema.GroupKind) {
			if e := o.Catalog.Get(kind); e != nil {
				r.enqueue(e.Transform)
			}
		})
		close(r.ready())
		return nil
	})
	transforms := source.Kind(mgr.GetCache(), &v1alpha1.Transform{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Transform]{})
	if err := errors.Join(c.Watch(changes), c.Watch(transforms)); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-r.ready():
		}
		o.Catalog.Watch(ctx, func(_ schema.GroupKind, e *catalog.Entry) {
			if e != nil {
				r.enqueue(e.Transform)
			}
		})
		return nil
	}))
}

// reconciler carries out the rollouts of Transforms. A Transform is reconciled by one goroutine
// at a time.
type reconciler struct {
	Options
	client  client.Client
	events  events.EventRecorder
	enqueue func(transform types.NamespacedName)

	mu      sync.Mutex // guards what follows
	started chan struct{}
	written map[types.NamespacedName]write
	took    map[types.NamespacedName]time.Duration // by the last decision
}

// write is the last write of a Transform by this process.
type write struct {
	// transform is the result, or nil if the informer shows it or a later one.
	transform *v1alpha1.Transform
	at        time.Time
}

// gather returns how long changes of the instances of a Transform are gathered.
func (r *reconciler) gather(transform types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(max(minGather, 10*r.took[transform]), maxGather)
}

// ready returns the channel that is closed when enqueue is set.
func (r *reconciler) ready() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started == nil {
		r.started = make(chan struct{})
	}
	return r.started
}

// read returns a Transform, at least as new as this process wrote it, or nil.
func (r *reconciler) read(ctx context.Context, key types.NamespacedName) (*v1alpha1.Transform, error) {
	t := &v1alpha1.Transform{}
	err := r.client.Get(ctx, key, t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if written := r.written[key].transform; err == nil && written != nil && written.UID == t.UID && resourceversion.Older(t.ResourceVersion, written.ResourceVersion) {
		return written.DeepCopy(), nil
	}
	if apierrors.IsNotFound(err) {
		delete(r.written, key)
		delete(r.took, key)
		return nil, nil
	}
	r.written[key] = write{at: r.written[key].at}
	return t, err
}

// early returns how long a status that only shows progress has to wait until it is written.
func (r *reconciler) early(key types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written[key].at.Add(progressPause).Sub(r.Now())
}

// maxRounds is the number of rounds of one reconciliation. Each but the last writes the status.
const maxRounds = 5

// Reconcile brings the rollout of a Transform further, until it has to wait.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	for range maxRounds {
		again, result, err := r.round(ctx, req.NamespacedName)
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: minGather}, nil // the informer shows the change soon
		}
		if err != nil || !again {
			return result, client.IgnoreNotFound(err)
		}
	}
	return reconcile.Result{RequeueAfter: minGather}, nil
}

// round decides once. It returns true if the decision was recorded, and another round has to
// carry it out.
func (r *reconciler) round(ctx context.Context, key types.NamespacedName) (bool, reconcile.Result, error) {
	wait := reconcile.Result{}
	t, err := r.read(ctx, key)
	if t == nil || err != nil {
		return false, wait, err
	}
	e := r.Catalog.Of(key)
	if e == nil || e.UID != t.UID || e.Paused || t.DeletionTimestamp != nil {
		return false, wait, nil
	}
	// The controller of the kind reports when it is there, and when it knows all instances.
	k := r.Board.Of(e.Kind())
	if k == nil {
		return false, wait, nil
	}
	in := rollout.Input{Settings: e.Rollout, To: rollout.Version(e.Module), Now: r.Now(), ResumeRequest: resumeRequest(t)}
	if t.Status.Rollout != nil {
		in.Recorded = *t.Status.Rollout
	}
	// The decision to stay completed needs no instances, unless one of them is behind. Otherwise each
	// change of one would cost a look at all.
	d := rollout.Decide(in)
	if !staysCompleted(&in, &d) || e.Rollout != nil && k.Behind() {
		began, known := r.Now(), false
		if in.Instances, known = k.Instances(); !known && e.Rollout != nil {
			return false, wait, nil
		}
		if t.Status.Rollout == nil {
			in.From = inUse(e, in.Instances)
		}
		d = rollout.Decide(in)
		r.mu.Lock()
		r.took[key] = r.Now().Sub(began)
		r.mu.Unlock()
	}
	if d.Record || e.Rollout != nil && !sameState(&d.State, &in.Recorded) {
		if wait.RequeueAfter = r.early(key); d.Record || wait.RequeueAfter <= 0 {
			return d.Record, reconcile.Result{}, r.record(ctx, t, e, d.State)
		}
	}
	if e.Rollout != nil {
		k.Assign(board.Assignment{From: d.State.FromDigest, To: e.Module.Digest, Create: d.Create, Update: set(d.Update), Restore: set(d.Restore)})
	}
	if !d.WakeAt.IsZero() {
		wake := max(time.Millisecond, d.WakeAt.Sub(r.Now()))
		wait.RequeueAfter = min(cmp.Or(wait.RequeueAfter, wake), wake)
	}
	return false, wait, r.prune(ctx, e, k, d.State)
}

// staysCompleted reports whether the rollout to the current version is completed, and the decision
// leaves it so.
func staysCompleted(in *rollout.Input, d *rollout.Decision) bool {
	return in.Recorded.Phase == v1alpha1.RolloutCompleted && d.State.Phase == v1alpha1.RolloutCompleted && in.Recorded.ToDigest == in.To.Digest
}

// resumeRequest returns the value of the annotation that resumes a rollout.
func resumeRequest(t *v1alpha1.Transform) string {
	value := t.Annotations[v1alpha1.AnnotationResumeRollout]
	return value[:min(len(value), 256)]
}

// inUse returns the version that most instances have besides the current one. It is the one
// before if no rollout was recorded.
func inUse(e *catalog.Entry, instances []rollout.Instance) rollout.Version {
	counts := map[string]int{}
	best := rollout.Version{}
	for i := range instances {
		digest := instances[i].Digest
		if digest == "" || digest == e.Module.Digest {
			continue
		}
		counts[digest]++
		if n := cmp.Or(cmp.Compare(counts[digest], counts[best.Digest]), cmp.Compare(best.Digest, digest)); n > 0 {
			best.Digest = digest
		}
	}
	return best
}

// set returns a list as a set.
func set(keys []types.NamespacedName) map[types.NamespacedName]bool {
	all := make(map[types.NamespacedName]bool, len(keys))
	for _, key := range keys {
		all[key] = true
	}
	return all
}

// prune deletes the versions that no instance and no rollout needs. The version before stays,
// so that instances can be pinned to it.
func (r *reconciler) prune(ctx context.Context, e *catalog.Entry, k board.Kind, s v1alpha1.RolloutStatus) error {
	needed := map[string]bool{e.Module.Digest: true, s.FromDigest: true, s.ToDigest: true}
	versions, err := r.Revisions.List(ctx, e.Transform)
	if err != nil || len(versions) <= len(needed) {
		return err
	}
	used, known := k.InUse()
	if !known {
		return nil
	}
	return r.Revisions.Prune(ctx, e.Transform, func(v catalog.Version) bool {
		return needed[v.Module.Digest] || used[v.Module.Digest] > 0 || v.Module.Version != "" && used[v.Module.Version] > 0
	})
}
