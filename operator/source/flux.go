package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// fluxVersion is the API version of all sources of Flux. ExternalArtifacts have no other.
var fluxVersion = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}

// resources are the resources of the kinds of sources.
var resources = map[v1alpha1.FluxSourceKind]string{
	v1alpha1.FluxGitRepository: "gitrepositories", v1alpha1.FluxOCIRepository: "ocirepositories",
	v1alpha1.FluxBucket: "buckets", v1alpha1.FluxExternalArtifact: "externalartifacts",
}

// sources watches the sources of Flux. The watch of a kind starts with the first InstanceSource that
// needs it, and never ends. While the cluster doesn't serve the kind, the watch is retried after at
// most 30 s.
type sources struct {
	dynamic dynamic.Interface
	// concerned returns the InstanceSources to reconcile after a change of a source. The empty key
	// means all sources of the kind.
	concerned func(context.Context, v1alpha1.FluxSourceKind, types.NamespacedName) []types.NamespacedName
	begin     chan *sourceKind

	mu    sync.Mutex // guards kinds
	kinds map[v1alpha1.FluxSourceKind]*sourceKind
}

// sourceKind is a kind of sources that is watched.
type sourceKind struct {
	kind     v1alpha1.FluxSourceKind
	informer toolscache.SharedIndexInformer

	mu sync.Mutex // guards what follows
	// err is the last error of the watch, and listed the resource version of the list before it.
	err    error
	listed string
}

func newSources(client dynamic.Interface, concerned func(context.Context, v1alpha1.FluxSourceKind, types.NamespacedName) []types.NamespacedName) *sources {
	return &sources{
		dynamic: client, concerned: concerned, begin: make(chan *sourceKind, len(resources)),
		kinds: map[v1alpha1.FluxSourceKind]*sourceKind{},
	}
}

// start runs informers until ctx is done.
func (s *sources) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case k := <-s.begin:
				if err := s.run(ctx, k, queue); err != nil {
					k.failed(err)
				}
			}
		}
	}()
	return nil
}

// run starts the informer of a kind, which queues the InstanceSources that a change concerns.
func (s *sources) run(ctx context.Context, k *sourceKind, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	wake := func(key types.NamespacedName) {
		for _, of := range s.concerned(ctx, k.kind, key) {
			queue.Add(reconcile.Request{NamespacedName: of})
		}
	}
	changed := func(object any) {
		if key, err := toolscache.DeletionHandlingObjectToName(object); err == nil {
			wake(types.NamespacedName(key))
		}
	}
	_, err := k.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	})
	if err != nil {
		return err
	}
	err = k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
		if k.failed(err) {
			wake(types.NamespacedName{})
		}
	})
	if err != nil {
		return err
	}
	go k.informer.RunWithContext(ctx)
	return nil
}

// failed records an error of the watch. It reports whether the cluster has just stopped serving the
// kind.
func (k *sourceKind) failed(err error) (missing bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	missing = apierrors.IsNotFound(err) && !apierrors.IsNotFound(k.err)
	k.err, k.listed = err, k.informer.LastSyncResourceVersion()
	return missing
}

// problem returns the error of the watch, or nil if the informer has listed the kind since.
func (k *sourceKind) problem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil && k.informer.HasSynced() && k.informer.LastSyncResourceVersion() != k.listed {
		k.err = nil
	}
	return k.err
}

// of returns the watch of a kind. It starts the watch if necessary.
func (s *sources) of(kind v1alpha1.FluxSourceKind) (*sourceKind, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.kinds[kind]; k != nil {
		return k, nil
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(s.dynamic, fluxVersion.WithResource(resources[kind]), metav1.NamespaceAll, 0, nil, nil).Informer()
	if err := informer.SetTransform(cache.TransformStripManagedFields()); err != nil {
		return nil, err
	}
	k := &sourceKind{kind: kind, informer: informer}
	s.kinds[kind] = k
	s.begin <- k
	return k, nil
}

// listPatience is how long a reconciliation waits until the sources of a kind are listed.
const listPatience = 5 * time.Second

// missingAfter is when to look again for a kind that the cluster doesn't serve.
const missingAfter = 30 * time.Second

// get returns a source as the informer shows it, or nil if there is none.
func (s *sources) get(ctx context.Context, kind v1alpha1.FluxSourceKind, key types.NamespacedName) (*unstructured.Unstructured, *failure) {
	k, err := s.of(kind)
	if err != nil {
		return nil, &failure{reason: reasonSourceNotReady, message: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for !k.informer.HasSynced() && k.problem() == nil && ctx.Err() == nil {
		// The first error of the watch ends the waiting, too.
		wait, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		toolscache.WaitForCacheSync(wait.Done(), k.informer.HasSynced)
		stop()
	}
	served := fmt.Sprintf("%s of %s", kind, fluxVersion)
	switch err := k.problem(); {
	case apierrors.IsNotFound(err):
		return nil, &failure{reason: reasonKindMissing, message: "the cluster doesn't serve " + served + "; install Flux 2.7 or newer", after: missingAfter}
	case err != nil && !k.informer.HasSynced():
		return nil, &failure{reason: reasonSourceNotReady, message: "listing " + served + ": " + err.Error(), after: missingAfter}
	case !k.informer.HasSynced():
		return nil, &failure{reason: reasonSourceNotReady, message: "the sources of the kind " + served + " aren't listed yet"}
	}
	name := toolscache.ObjectName(key)
	object, exists, err := k.informer.GetStore().GetByKey(name.String())
	if err != nil || !exists {
		return nil, nil
	}
	return object.(*unstructured.Unstructured), nil
}
