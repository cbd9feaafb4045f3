package transform

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/roles"
)

// rights notices changes of the roles of the cluster and of their bindings, those of Transforms
// excepted. Each may give the manager a right, or take one away.
type rights struct {
	informers []toolscache.SharedIndexInformer
	// settle is the time after which all API servers know a change.
	settle time.Duration
	// wake returns the Transforms for which the manager lacks rights, or all.
	wake    func(ctx context.Context, all bool) []reconcile.Request
	changed chan struct{}
	// epoch counts the changes that all API servers know, from 1.
	epoch atomic.Int64
}

func newRights(client metadata.Interface, settle time.Duration, wake func(context.Context, bool) []reconcile.Request) (*rights, error) {
	r := &rights{settle: settle, wake: wake, changed: make(chan struct{}, 1)}
	r.epoch.Store(1)
	for _, resource := range []string{"clusterroles", "clusterrolebindings"} {
		informer, err := newNames(client, rbacv1.SchemeGroupVersion.WithResource(resource), func(o *metav1.ListOptions) {
			o.LabelSelector = roles.Foreign()
		})
		if err != nil {
			return nil, err
		}
		r.informers = append(r.informers, informer)
	}
	return r, nil
}

// start watches roles and bindings until ctx is done.
func (r *rights) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	change := func() {
		select {
		case r.changed <- struct{}{}:
		default: // the receiver will see the newest state
		}
	}
	for _, informer := range r.informers {
		_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, initial bool) {
				if !initial {
					change()
				}
			},
			UpdateFunc: func(any, any) { change() },
			DeleteFunc: func(any) { change() },
		})
		if err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
	}
	go r.run(ctx, queue)
	return nil
}

// rightsPause is the time between two looks at the rights that are missing, after a change.
const rightsPause = time.Second

// run has Transforms reconciled after changes until ctx is done. API servers learn of a change some
// time after it: until then, Transforms that lack rights are tried again and again, and at the
// end of that time all Transforms.
func (r *rights) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		}
		for known := time.Now().Add(r.settle); ctx.Err() == nil; {
			all := !time.Now().Before(known)
			if all {
				r.epoch.Add(1)
			}
			for _, request := range r.wake(ctx, all) {
				queue.Add(request)
			}
			if all {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(rightsPause):
			}
		}
	}
}

// missingRights returns the block for rights on the instances of a kind that the manager lacks. The
// answer of the API server holds until roles change.
func (s *session) missingRights(ctx context.Context, resource schema.GroupResource) (*blocked, error) {
	epoch := s.rights.epoch.Load()
	if s.p.reviewed == epoch {
		return nil, nil
	}
	var missing []string
	for _, wanted := range []authorizationv1.ResourceAttributes{{Verb: "get"}, {Verb: "list"}, {Verb: "watch"}, {Verb: "patch"}, {Verb: "patch", Subresource: "status"}} {
		wanted.Group, wanted.Resource = resource.Group, resource.Resource
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &wanted}}
		if err := s.client.Create(ctx, review); apierrors.IsForbidden(err) {
			return nil, nil // the requests themselves will show it
		} else if err != nil {
			return nil, fmt.Errorf("reviewing the rights of pequod-manager: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, strings.TrimSuffix(wanted.Verb+" "+resource.Resource+"/"+wanted.Subresource, "/"))
		}
	}
	if len(missing) == 0 {
		s.p.reviewed = epoch
		return nil, nil
	}
	return forbidden(resource, "pequod-manager may not "+strings.Join(missing, ", ")+" of the group "+resource.Group), nil
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

// forbidden returns the block for instances that the manager may not handle, with the ClusterRole
// that lets it.
func forbidden(resource schema.GroupResource, why string) *blocked {
	name := resource.Resource
	role, err := json.Marshal(&rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "pequod-manager-" + resource.String(), Labels: map[string]string{v1alpha1.LabelAggregateManager: "true"}},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{resource.Group}, Resources: []string{name, name + "/status", name + "/finalizers"},
			Verbs: []string{"get", "list", "watch", "update", "patch"},
		}},
	})
	if err != nil {
		why += ": " + err.Error() // can't happen: it has strings only
	}
	return &blocked{
		condition: v1alpha1.ConditionRBACConfigured, reason: reasonInstancesForbidden, stalled: true, after: 10 * time.Second,
		message: why + ", so it can't reconcile the instances; to let it, apply this ClusterRole: " + string(role),
	}
}
