package transform

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/roles"
)

// ByObject returns the options of the manager's cache for the objects that this package reads.
// namespace is that of the manager.
func ByObject(namespace string) map[client.Object]cache.ByObject {
	generated := labels.SelectorFromSet(labels.Set{
		v1alpha1.LabelManaged: "true", v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
	})
	// Roles are watched in all namespaces, but only the generated ones.
	granted := cache.ByObject{Label: labels.SelectorFromSet(roles.Selector()), Transform: cache.TransformStripManagedFields()}
	objects := map[client.Object]cache.ByObject{
		&v1alpha1.Transform{}:                       {Transform: cache.TransformStripManagedFields()},
		&apiextensionsv1.CustomResourceDefinition{}: {Label: generated, Transform: stripFields},
		&corev1.ServiceAccount{}:                    granted,
		&rbacv1.Role{}:                              granted,
		&rbacv1.RoleBinding{}:                       granted,
		&rbacv1.ClusterRole{}:                       granted,
		&rbacv1.ClusterRoleBinding{}:                granted,
	}
	maps.Copy(objects, blob.ByObject(namespace))
	return objects
}

// stripFields drops the fields of managedFields, and keeps the names of the field managers.
func stripFields(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		managers := o.GetManagedFields()
		for i := range managers {
			managers[i].FieldsV1 = nil
		}
	}
	return object, nil
}

// AddToScheme adds the kinds that the manager's client needs.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, v1alpha1.AddInstanceSources, apiextensionsv1.AddToScheme, appsv1.AddToScheme, authorizationv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// Setup adds the controller to a manager. The manager's scheme must have the kinds of
// [AddToScheme], and its cache the options of [ByObject].
func Setup(mgr manager.Manager, o Options) error {
	o.Concurrent = cmp.Or(o.Concurrent, 4)
	o.Backoff = cmp.Or(o.Backoff, 5*time.Second)
	o.Settle = cmp.Or(o.Settle, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{o.Namespace}
	}
	r := &reconciler{
		Options: o, client: mgr.GetClient(), api: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), events: mgr.GetEventRecorder(v1alpha1.ManagerProgram),
		roles:     roles.Client{Client: mgr.GetClient(), Namespace: o.Namespace, Written: &roles.Written{}},
		revisions: revision.Store{Client: mgr.GetClient(), API: mgr.GetAPIReader(), Namespace: o.Namespace},
		platforms: map[types.NamespacedName]*platform{}, missing: map[types.NamespacedName][]string{}, claims: newClaims(),
		fetches: make(chan struct{}, max(1, o.Concurrent-1)),
	}
	// Fetches have a backoff of their own; this one is for requests to the API server.
	c, err := controller.New("transform", mgr, reconciling.Options(r, o.Concurrent, 20*time.Millisecond, 20*time.Second))
	if err != nil {
		return err
	}
	r.instances = newInstances(mgr.GetCache())
	o.Catalog.OnCount(r.instances.enqueue)
	names, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	if r.kinds, err = newKinds(names, r.ofName); err != nil {
		return err
	}
	if r.rights, err = newRights(names, o.Settle, r.ofRights, o.Catalog.TryForbidden); err != nil {
		return err
	}
	// All that the status depends on is watched, so nothing is polled but moving references.
	watches := []source.Source{
		source.Kind(mgr.GetCache(), &v1alpha1.Transform{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Transform]{}),
		source.Kind(mgr.GetCache(), &apiextensionsv1.CustomResourceDefinition{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofDefinition)),
		source.Func(r.instances.start), source.Func(r.kinds.start), source.Func(r.rights.start),
	}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
	} {
		watches = append(watches, source.Kind(mgr.GetCache(), object, handler.EnqueueRequestsFromMapFunc(r.ofRole)))
	}
	accounts, err := controller.New("accounts", mgr, controller.Options{Reconciler: reconcile.Func(r.listAccounts), SkipNameValidation: new(true)})
	if err != nil {
		return err
	}
	for _, object := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}} {
		err := accounts.Watch(source.Kind(mgr.GetCache(), object, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			return []reconcile.Request{{}}
		})))
		if err != nil {
			return err
		}
	}
	if o.Conversion != nil {
		watches = append(watches, source.Kind(mgr.GetCache(), &admissionregistrationv1.ValidatingWebhookConfiguration{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofConfiguration)))
	}
	for _, w := range watches {
		if err := c.Watch(w); err != nil {
			return err
		}
	}
	return mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Transform{}, byDefinition, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Transform).Status.GeneratedCRD}
	})
}

// listAccounts lists accounts that exist without a Transform: it isn't restored from a backup yet, or
// graphs of orphaned instances need the account.
func (r *reconciler) listAccounts(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconciling.Again(r.roles.ListAccounts(ctx, "", r.mayList))
}

// ofDefinition returns the Transforms that a CRD concerns: the one that generates it, and
// those that it is in the way of.
func (r *reconciler) ofDefinition(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) []reconcile.Request {
	wake := r.claims.interested(crd.Name)
	for _, t := range r.generating(ctx, crd.Name) {
		if key := client.ObjectKeyFromObject(&t); !slices.Contains(wake, key) {
			wake = append(wake, key)
		}
	}
	return requests(wake)
}

// ofRole returns the Transforms that an object of package roles may be of.
func (r *reconciler) ofRole(_ context.Context, object client.Object) []reconcile.Request {
	r.roles.Written.Seen(object)
	var wake []types.NamespacedName
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.platforms {
		if v1alpha1.LabelValue(key.Name) == object.GetLabels()[v1alpha1.LabelTransform] {
			wake = append(wake, key)
		}
	}
	return requests(wake)
}

// ofConfiguration returns all Transforms: the CRD of each may have the conversion that follows
// from a configuration.
func (r *reconciler) ofConfiguration(ctx context.Context, _ *admissionregistrationv1.ValidatingWebhookConfiguration) []reconcile.Request {
	return r.those(ctx, func(*v1alpha1.Transform) bool { return true })
}

// ofRights returns the Transforms that a change of the rights in the cluster may concern: all, or
// those for which the manager lacks rights.
func (r *reconciler) ofRights(ctx context.Context, all bool) []reconcile.Request {
	return r.those(ctx, func(t *v1alpha1.Transform) bool {
		switch condition(&t.Status, v1alpha1.ConditionReady).Reason {
		case reasonInstancesForbidden, v1alpha1.ReasonEscalationRefused, reasonDeletionFailed, string(metav1.StatusReasonForbidden):
			return true
		}
		return all
	})
}

// those returns the Transforms that satisfy a condition.
func (r *reconciler) those(ctx context.Context, condition func(*v1alpha1.Transform) bool) []reconcile.Request {
	var all v1alpha1.TransformList
	if err := r.client.List(ctx, &all); err != nil {
		return nil // the cache is not running any more
	}
	var wake []types.NamespacedName
	for i := range all.Items {
		if condition(&all.Items[i]) {
			wake = append(wake, client.ObjectKeyFromObject(&all.Items[i]))
		}
	}
	return requests(wake)
}

func requests(keys []types.NamespacedName) []reconcile.Request {
	var all []reconcile.Request
	for _, key := range keys {
		all = append(all, reconcile.Request{NamespacedName: key})
	}
	return all
}

// ofName returns the Transforms that a CRD with a name concerns: those that it is in the way of,
// and those whose graphs have objects of a group that lacked kinds.
func (r *reconciler) ofName(crd string) []reconcile.Request {
	wake := r.claims.interested(crd)
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, groups := range r.missing {
		if ofGroup(crd, groups) && !slices.Contains(wake, key) {
			wake = append(wake, key)
		}
	}
	return requests(wake)
}
