package transform

import (
	"context"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/operator/worker"
)

// reconciler reconciles Transforms. A Transform is reconciled by one goroutine at a time.
type reconciler struct {
	Options
	client client.Client
	api    client.Reader // reads from the API server
	mapper meta.RESTMapper
	events events.EventRecorder
	roles  roles.Client
	// revisions has the sources of versions that were published.
	revisions revision.Store
	// instances counts the instances of kinds, and kinds knows those of the cluster.
	instances *instances
	kinds     *kinds
	rights    *rights
	claims    claims
	// fetches has an element for each fetch from servers that is in flight.
	fetches chan struct{}

	// lists is whether the manager may list accounts, in an epoch of rights.
	lists struct {
		sync.Mutex
		reviewed int64
		allowed  bool
	}

	mu        sync.Mutex // guards the maps; each platform belongs to the goroutine of its Transform
	platforms map[types.NamespacedName]*platform
	// missing are the API groups of kinds that the cluster lacks, by Transform.
	missing map[types.NamespacedName][]string
}

// platform is the state of a Transform in this process. All of it can be found again: the
// sources by a fetch, the rest by an evaluation. So it is never written anywhere.
type platform struct {
	uid types.UID
	// generation and request are the generation and the requested reconciliation that were
	// fetched.
	generation int64
	request    string
	// fetched are the sources of the last fetch that succeeded, and loaded is the platform that
	// they make, or nil until they are evaluated.
	fetched *fetch.Fetched
	loaded  *worker.Loaded
	// samples are the graphs that rights are computed from, or nil until they are needed, and
	// rules are the rights that they need, once they are computed.
	samples []*v1alpha1.ResourceGraph
	rules   []rbacv1.PolicyRule
	// namespaces are those with instances when granted is set: no other namespace has a graph
	// then. They are used with rbacScope Namespace only.
	namespaces []string
	granted    bool
	// reviewed is the epoch of [rights] in which the manager had those on the instances, or 0.
	reviewed int64
	// unknown are the kinds that rules lacks, because the cluster doesn't know them.
	unknown []schema.GroupKind
	// due is the time of the next fetch; the zero time means that there is none.
	due time.Time
	// block is the error of the last fetch, load or evaluation of samples.
	block *blocked
	// unusable is the digest of kept sources that could not be loaded.
	unusable string
	// failures counts fetches, loads and evaluations of samples that failed in a row.
	failures int
}

// session is one reconciliation of a Transform.
type session struct {
	*reconciler
	key types.NamespacedName
	// t is a copy of the Transform. Its status is that in the cluster until it is written.
	t *v1alpha1.Transform
	// p is the platform, which belongs to this session until it ends.
	p *platform
	// now is the time of the start, which all conditions and deadlines share.
	now time.Time
	// soon is the time after which a Transform that is ready is reconciled, or 0.
	soon time.Duration
	// failed is set if a step failed, unlike one that only waits.
	failed bool
}

// byDefinition is the index of Transforms by the names of their CRDs.
const byDefinition = "status.generatedCRD"

// allowed reports whether Transforms of a namespace are reconciled.
func (r *reconciler) allowed(namespace string) bool {
	return slices.Contains(r.Namespaces, namespace) || slices.Contains(r.Namespaces, "*")
}

// platformOf returns the platform of a Transform, which it creates if necessary. A Transform that was deleted and created
// again is another one.
func (r *reconciler) platformOf(ctx context.Context, t *v1alpha1.Transform) (*platform, error) {
	key := client.ObjectKeyFromObject(t)
	r.mu.Lock()
	p := r.platforms[key]
	r.mu.Unlock()
	if p != nil && p.uid != t.UID {
		if err := r.forget(ctx, key); err != nil {
			return nil, err
		}
		p = nil
	}
	if p == nil {
		p = &platform{uid: t.UID}
		r.mu.Lock()
		r.platforms[key] = p
		r.mu.Unlock()
	}
	return p, nil
}

// forget drops everything about a Transform that doesn't exist any more.
func (r *reconciler) forget(ctx context.Context, key types.NamespacedName) error {
	r.mu.Lock()
	delete(r.platforms, key)
	delete(r.missing, key)
	r.mu.Unlock()
	r.Catalog.Delete(key)
	if r.Converting != nil {
		r.Converting.Delete(key)
	}
	r.Loader.Forget(key)
	r.Metrics.Observed(key, nil)
	r.wake(r.claims.release(key, ""))
	if err := r.revisions.Prune(ctx, key, func(catalog.Version) bool { return false }); err != nil {
		return err
	}
	return r.instances.forget(ctx, key)
}

// wake has Transforms reconciled again.
func (r *reconciler) wake(keys []types.NamespacedName) {
	for _, key := range keys {
		r.instances.enqueue(key)
	}
}

// generating returns the Transforms whose status names a CRD.
func (r *reconciler) generating(ctx context.Context, crd string) []v1alpha1.Transform {
	var all v1alpha1.TransformList
	if err := r.client.List(ctx, &all, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(byDefinition, crd)}); err != nil {
		return nil // the cache is not running any more
	}
	return all.Items
}

// isPaused reports whether nothing is written for the Transform and its instances.
func (s *session) isPaused() bool { return s.t.Labels[v1alpha1.LabelPaused] == "true" }

// definition returns a CRD of the cluster, or nil. The cache has only generated ones, so one
// that it lacks is read from the API server.
func (s *session) definition(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := types.NamespacedName{Name: name}
	err := s.client.Get(ctx, key, crd)
	if apierrors.IsNotFound(err) {
		err = s.api.Get(ctx, key, crd)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}
