package graphs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/pequod-io/pequod/applier/rbac"
)

const (
	// How long answers hold. A right that was granted should help soon, but an author who
	// writes many graphs must not be asked about the same right for each of them.
	allowTTL, denyTTL = 10 * time.Second, time.Second
	// maxAnswers bounds the number of remembered answers.
	maxAnswers = 8192
	// maxReviews bounds the reviews of one request.
	maxReviews = 2000
	// maxNames is the number of objects of a resource up to which rights by name are
	// looked for. For more objects, the author needs the right on all of them.
	maxNames = 100
	// parallel bounds the reviews in flight, of one request and of all.
	parallel, parallelTotal = 16, 64
)

// errTooManyReviews is returned if the rights of an author can't be compared with those
// of a graph in maxReviews reviews.
var errTooManyReviews = fmt.Errorf("the graph needs more than %d reviews of access; use fewer kinds, namespaces or rules of roles, or an account that the author may impersonate", maxReviews)

// reviews asks the API server about the rights of users.
type reviews struct {
	access authorizationclient.SubjectAccessReviewInterface
	// known has the answers by user and right, as a bool.
	known *cache.LRUExpireCache
	slots chan struct{} // one for each review in flight
}

// newReviews returns reviews without remembered answers.
func newReviews(access authorizationclient.SubjectAccessReviewInterface) *reviews {
	return &reviews{access, cache.NewLRUExpireCache(maxAnswers), make(chan struct{}, parallelTotal)}
}

// missing returns the rights that a user doesn't have, in their order. If several objects
// of a resource are needed, it first asks about the whole resource. Of the objects of one
// resource it returns only the first that the user may not use with a verb.
func (r *reviews) missing(ctx context.Context, user authenticationv1.UserInfo, needed []rbac.NodeRight) ([]rbac.NodeRight, error) {
	var groups [][]rbac.NodeRight // the objects of one verb on one resource of a namespace
	index := map[rbac.Right]int{}
	for _, n := range needed {
		key := n.Right
		key.Name = ""
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	var count atomic.Int32
	allowed := func(ctx context.Context, right rbac.Right) (bool, error) {
		if count.Add(1) > maxReviews {
			return false, errTooManyReviews
		}
		return r.allowed(ctx, user, right)
	}
	found := make([]*rbac.NodeRight, len(groups))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(parallel)
	for i, group := range groups {
		work.Go(func() (err error) {
			found[i], err = firstMissing(ctx, group, allowed)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	var all []rbac.NodeRight
	for _, right := range found {
		if right != nil {
			all = append(all, *right)
		}
	}
	return all, nil
}

// firstMissing returns the first right of a group that isn't allowed, or nil. All rights
// of the group differ in the names of objects only.
func firstMissing(ctx context.Context, group []rbac.NodeRight, allowed func(context.Context, rbac.Right) (bool, error)) (*rbac.NodeRight, error) {
	if len(group) > 1 {
		whole := group[0]
		whole.Name = ""
		switch ok, err := allowed(ctx, whole.Right); {
		case ok || err != nil:
			return nil, err
		case len(group) > maxNames || slices.ContainsFunc(group, func(n rbac.NodeRight) bool { return n.Name == "" }):
			return &whole, nil
		}
	}
	for _, right := range group {
		if ok, err := allowed(ctx, right.Right); !ok || err != nil {
			return &right, err
		}
	}
	return nil, nil
}

// allowed reports whether a user has a right. The error is one of the API server or of the
// connection, or that of ctx.
func (r *reviews) allowed(ctx context.Context, user authenticationv1.UserInfo, right rbac.Right) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: specOf(user, right)}
	key, err := json.Marshal(review.Spec)
	if err != nil {
		return false, err
	}
	if known, ok := r.known.Get(string(key)); ok {
		return known.(bool), nil
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	answer, err := r.access.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking whether the user may %s: %w", right, err)
	}
	ok, ttl := answer.Status.Allowed && !answer.Status.Denied, denyTTL
	switch {
	case ok:
		ttl = allowTTL
	case answer.Status.EvaluationError != "" && !answer.Status.Denied:
		// An authorizer failed that might have allowed it, such as a webhook that is down.
		return false, fmt.Errorf("asking whether the user may %s: %s", right, answer.Status.EvaluationError)
	}
	r.known.Add(string(key), ok, ttl)
	return ok, nil
}

// specOf returns the question whether a user has a right.
func specOf(user authenticationv1.UserInfo, right rbac.Right) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups}
	if len(user.Extra) > 0 {
		spec.Extra = map[string]authorizationv1.ExtraValue{}
		for key, values := range user.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	if right.URL != "" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: right.URL, Verb: right.Verb}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource,
		Namespace: right.Namespace, Name: right.Name,
	}
	return spec
}
