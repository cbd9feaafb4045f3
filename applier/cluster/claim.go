package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// claimManager is the field manager of [v1alpha1.AnnotationClaimedBy]. It isn't the
// graph's own, so that a claim doesn't change the fields that a graph manages.
const claimManager = "pequod-claim"

// Claim records on an object that a graph waits for it, by the annotation
// [v1alpha1.AnnotationClaimedBy]. Only users who may change the object can do so, which
// proves the claim to the graph that owns the object. Claim changes nothing unless the
// object belongs to another graph of the same namespace: no other graph hands
// objects over to this one.
func (c *Client) Claim(ctx context.Context, key inventory.Key, version string, claimant inventory.Owner) error {
	a, err := c.resolve(ctx, key, version)
	if err != nil {
		return err
	}
	live, err := c.get(ctx, a)
	if err != nil || live == nil {
		return err
	}
	owner, owned := inventory.OwnerOf(live.GetLabels())
	if !owned || owner.Namespace != claimant.Namespace || claimant.Owns(live.GetLabels()) || IsClaimedBy(live, claimant) {
		return nil
	}
	body := map[string]any{"metadata": map[string]any{
		"uid":         live.GetUID(), // another object of this name isn't claimed
		"annotations": map[string]string{v1alpha1.AnnotationClaimedBy: claimant.String()},
	}}
	_, _, err = c.patch(ctx, a, types.MergePatchType, body, metav1.PatchOptions{FieldManager: claimManager})
	return err
}

// IsClaimedBy reports whether [Client.Claim] recorded the claim of a graph on an object.
// If several graphs claimed the object, the last claim counts.
func IsClaimedBy(live *unstructured.Unstructured, claimant inventory.Owner) bool {
	return live.GetAnnotations()[v1alpha1.AnnotationClaimedBy] == claimant.String()
}

// GetLeft reads an object that left its graph, in another version of its kind if its
// own version isn't served any more. It returns nil if the object doesn't exist.
func (c *Client) GetLeft(ctx context.Context, key inventory.Key, version string) (*unstructured.Unstructured, error) {
	a, err := c.resolveServed(ctx, key, version)
	if err != nil {
		return nil, err
	}
	return c.get(ctx, a)
}

// MayPatch reports whether RBAC lets a service account patch an object. An API server
// that refuses to answer proves nothing, so the result is then false.
func (c *Client) MayPatch(ctx context.Context, key inventory.Key, version, namespace, account string) (bool, error) {
	a, err := c.resolveServed(ctx, key, version)
	if err != nil {
		return false, err
	}
	review := authorizationv1.SubjectAccessReviewSpec{
		User:   fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "patch", Group: a.kind.Resource.Group, Version: a.kind.Resource.Version, Resource: a.kind.Resource.Resource,
			Namespace: a.namespace, Name: a.name,
		},
	}
	// Administrators of a namespace may ask about it, but not about the whole cluster.
	var answer authorizationv1.LocalSubjectAccessReview
	path, kind := []string{"apis", "authorization.k8s.io", "v1", "subjectaccessreviews"}, "SubjectAccessReview"
	if a.namespace != "" {
		path, kind = []string{"apis", "authorization.k8s.io", "v1", "namespaces", a.namespace, "localsubjectaccessreviews"}, "LocalSubjectAccessReview"
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": kind,
		"metadata": map[string]any{"namespace": a.namespace}, "spec": review,
	})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := c.rest.Post().AbsPath(path...).SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer.Status.Allowed, err
}
