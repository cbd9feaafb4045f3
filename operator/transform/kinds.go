package transform

import (
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// kinds knows the names of all CRDs of the cluster. The manager's cache has the generated ones
// only, because CRDs are large.
type kinds struct {
	informer toolscache.SharedIndexInformer
	// changed returns the Transforms that a CRD concerns.
	changed func(crd string) []reconcile.Request
}

func newKinds(client metadata.Interface, changed func(string) []reconcile.Request) (*kinds, error) {
	informer, err := newNames(client, apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), nil)
	return &kinds{informer, changed}, err
}

// newNames returns an informer of the names and versions of cluster-scoped objects.
func newNames(client metadata.Interface, resource schema.GroupVersionResource, tweak metadatainformer.TweakListOptionsFunc) (toolscache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(client, resource, "", 0, nil, tweak).Informer()
	return informer, informer.SetTransform(nameOnly)
}

// nameOnly drops all metadata but the name and the versions.
func nameOnly(object any) (any, error) {
	o, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Generation: o.Generation,
	}}, nil
}

// start watches the CRDs until ctx is done.
func (k *kinds) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	wake := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			for _, r := range k.changed(o.GetName()) {
				queue.Add(r)
			}
		}
	}
	_, err := k.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake, UpdateFunc: func(_, object any) { wake(object) }, DeleteFunc: wake,
	})
	if err != nil {
		return err
	}
	go k.informer.RunWithContext(ctx)
	return nil
}

// in reports whether the cluster has a CRD of one of the groups.
func (k *kinds) in(groups []string) bool {
	return slices.ContainsFunc(k.informer.GetStore().ListKeys(), func(crd string) bool { return ofGroup(crd, groups) })
}

// ofGroup reports whether a CRD has the name of one of the groups.
func ofGroup(crd string, groups []string) bool {
	_, group, _ := strings.Cut(crd, ".")
	return slices.Contains(groups, group)
}
