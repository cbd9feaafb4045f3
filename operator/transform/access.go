package transform

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/roles"
)

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
		allowed, err := s.may(ctx, wanted)
		if apierrors.IsForbidden(err) {
			return nil, nil // the requests themselves will show it
		} else if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, strings.TrimSuffix(wanted.Verb+" "+resource.Resource+"/"+wanted.Subresource, "/"))
		}
	}
	if len(missing) == 0 {
		s.p.reviewed = epoch
		return nil, nil
	}
	return forbidden(resource, "pequod-manager may not "+strings.Join(missing, ", ")+" of the group "+resource.Group), nil
}

// may reports whether the manager has a right.
func (r *reconciler) may(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing the rights of pequod-manager: %w", err)
	}
	return review.Status.Allowed, nil
}

// mayList reports whether the manager lists the accounts of Transforms to act as them. The answer of the
// API server holds until roles change.
func (r *reconciler) mayList(ctx context.Context) (bool, error) {
	r.lists.Lock()
	defer r.lists.Unlock()
	epoch := r.rights.epoch.Load()
	if r.lists.reviewed == epoch {
		return r.lists.allowed, nil
	}
	allowed, err := r.may(ctx, roles.MayListAccounts(r.Namespace))
	if err == nil {
		r.lists.reviewed, r.lists.allowed = epoch, allowed
	}
	return allowed, err
}

// listingPatience is how long the instances of a platform may not be listed before the status of
// its Transform shows it: the manager has just started, or the API server is away for a moment.
const listingPatience = 10 * time.Second

// unlisted returns the block for a platform whose instances can't be listed, or how long to wait
// for it before it counts. Both are zero if they are listed.
func (s *session) unlisted() (*blocked, time.Duration) {
	if s.Listing == nil {
		return nil, 0
	}
	listing, names := s.Listing(s.key), s.p.loaded.Names
	if listing.Err == nil {
		return nil, 0
	}
	resource := schema.GroupResource{Group: names.Group, Resource: names.Plural}
	if apierrors.IsForbidden(listing.Err) {
		return forbidden(resource, listing.Err.Error()), 0
	}
	if wait := listingPatience - time.Since(listing.Since); wait > 0 {
		return nil, wait
	}
	return s.notListed(v1alpha1.ConditionReady, resource), 0
}

// notListed returns the block of a step for instances that can't be listed for a reason that may
// pass.
func (s *session) notListed(condition string, resource schema.GroupResource) *blocked {
	cause := "the API server doesn't answer"
	if s.Listing != nil {
		if err := s.Listing(s.key).Err; err != nil {
			cause = err.Error()
		}
	}
	return &blocked{condition: condition, reason: reasonNotListed, after: listPatience, message: "the instances can't be listed, which is repeated: " + cause +
		"; see kubectl get " + resource.String() + " -A"}
}

// forbidden returns the block for instances that the manager may not handle, with the ClusterRole
// that lets it.
func forbidden(resource schema.GroupResource, why string) *blocked {
	name := resource.Resource
	role := roles.ForManager(resource.String(), []rbacv1.PolicyRule{{
		APIGroups: []string{resource.Group}, Resources: []string{name, name + "/status", name + "/finalizers"},
		Verbs: []string{"get", "list", "watch", "update", "patch"},
	}})
	return &blocked{
		condition: v1alpha1.ConditionRBACConfigured, reason: reasonInstancesForbidden, stalled: true, after: 10 * time.Second,
		message: why + ", so it can't reconcile the instances; to let it, apply this ClusterRole: " + role,
	}
}
