package instances

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
)

// retryAfter is the pause after a failed request.
const retryAfter = 2 * time.Second

// Registration keeps the webhooks of generated kinds in a ValidatingWebhookConfiguration that
// is installed with another webhook, whose client configuration they get. It does not
// create the configuration: whoever deletes it wants no webhooks. The leader alone writes.
//
// It needs the rights to get, list, watch and update the configuration, and to list and watch
// Transforms.
type Registration struct {
	Catalog *catalog.Catalog
	// Configuration is the name of the configuration.
	Configuration string
	// Namespace is the namespace of the program. Instances in it are not checked.
	Namespace string
	// Allowed reports whether Transforms of a namespace are used.
	Allowed func(namespace string) bool
	// FailurePolicy decides about requests that no replica could check.
	FailurePolicy admissionregistrationv1.FailurePolicyType

	client  client.Client
	changed chan struct{}
	log     logr.Logger
}

// ByObject returns the options of the manager's cache for the configuration.
func ByObject(configuration string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {
			Field: fields.OneTermEqualSelector("metadata.name", configuration), Transform: cache.TransformStripManagedFields(),
		},
	}
}

// Setup adds the registration to a manager, whose cache must have the options of [ByObject].
func (r *Registration) Setup(ctx context.Context, m manager.Manager) error {
	r.client, r.log, r.changed = m.GetClient(), m.GetLogger().WithName("webhooks"), make(chan struct{}, 1)
	for _, object := range []client.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &v1alpha1.Transform{}} {
		informer, err := m.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { r.wake() }, UpdateFunc: func(_, _ any) { r.wake() }, DeleteFunc: func(any) { r.wake() },
		}); err != nil {
			return err
		}
	}
	return m.Add(r)
}

// wake has the configuration compared again.
func (r *Registration) wake() {
	select {
	case r.changed <- struct{}{}:
	default: // it will be compared already
	}
}

// Start keeps the configuration until ctx is done.
func (r *Registration) Start(ctx context.Context) error {
	go r.Catalog.Watch(ctx, func(schema.GroupKind, *catalog.Entry) { r.wake() })
	for {
		var retry <-chan time.Time
		if err := r.step(ctx); err != nil && ctx.Err() == nil {
			if !apierrors.IsConflict(err) { // the keeper of the certificate writes, too
				r.log.Error(err, "the webhooks of instances can't be registered", "configuration", r.Configuration)
			}
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
		case <-retry:
		}
	}
}

// step makes the configuration have the webhooks of the catalog.
func (r *Registration) step(ctx context.Context) error {
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: r.Configuration}, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	var transforms v1alpha1.TransformList
	if err := r.client.List(ctx, &transforms); err != nil {
		return err
	}
	// After a restart, the catalog lacks platforms that are still to be loaded. Their webhooks
	// stay meanwhile.
	claimed := map[string]bool{}
	for _, t := range transforms.Items {
		if t.Status.GeneratedCRD != "" && r.Allowed(t.Namespace) {
			claimed[t.Status.GeneratedCRD] = true
		}
	}
	next := live.DeepCopy()
	next.Webhooks = r.webhooks(live.Webhooks, r.Catalog.Entries(), func(crd string) bool { return claimed[crd] })
	if equality.Semantic.DeepEqual(live.Webhooks, next.Webhooks) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Update(ctx, next, client.FieldOwner(v1alpha1.ManagerProgram)))
}

// webhooks returns the webhooks of a configuration: those of others as they are, and one for
// each entry. Without a webhook of others there are none, because their client configuration
// comes from it.
func (r *Registration) webhooks(
	live []admissionregistrationv1.ValidatingWebhook, entries []*catalog.Entry, keep func(crd string) bool,
) []admissionregistrationv1.ValidatingWebhook {
	var all []admissionregistrationv1.ValidatingWebhook
	own := map[string]*admissionregistrationv1.ValidatingWebhook{}
	for _, w := range live {
		if isOwn(&w) {
			own[w.Name] = &w
		} else {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return nil
	}
	like := all[0]
	made := map[string]bool{}
	var kinds []admissionregistrationv1.ValidatingWebhook
	for _, e := range entries {
		w := r.webhook(e, &like, own[nameOf(e)])
		made[w.Name] = true
		kinds = append(kinds, w)
	}
	for name, w := range own {
		if !made[name] && keep(name) {
			kinds = append(kinds, *w)
		}
	}
	slices.SortFunc(kinds, func(a, b admissionregistrationv1.ValidatingWebhook) int { return strings.Compare(a.Name, b.Name) })
	return append(all, kinds...)
}
