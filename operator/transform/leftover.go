package transform

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/roles"
)

// eachGraph calls f for the graphs of the Transform until it returns false. Graphs of a Transform
// of this name in another namespace have the same labels, and another API group.
func (s *session) eachGraph(ctx context.Context, f func(*v1alpha1.ResourceGraph) (bool, error)) error {
	_, group, _ := strings.Cut(s.t.Status.GeneratedCRD, ".")
	var graphs v1alpha1.ResourceGraphList
	for {
		if err := s.listGraphs(ctx, &graphs); err != nil {
			return err
		}
		for i := range graphs.Items {
			g := &graphs.Items[i]
			if schema.FromAPIVersionAndKind(g.Spec.SourceRef.APIVersion, g.Spec.SourceRef.Kind).Group != group {
				continue
			}
			if more, err := f(g); err != nil || !more {
				return err
			}
		}
		if graphs.Continue == "" {
			return nil
		}
	}
}

// graphsExist returns a graph of the Transform, or "".
func (s *session) graphsExist(ctx context.Context) (string, error) {
	found := ""
	err := s.eachGraph(ctx, func(g *v1alpha1.ResourceGraph) (bool, error) {
		found = client.ObjectKeyFromObject(g).String()
		return false, nil
	})
	return found, err
}

// removeGraphs waits until the graphs of deleted instances are gone. Usually, Kubernetes deletes
// them after their instances. But its garbage collector deletes nothing whose owner has a kind
// that doesn't exist any more, so it must not be waited for if the CRD is gone.
func (s *session) removeGraphs(ctx context.Context) (*blocked, error) {
	first, namespaces := "", map[string]bool{}
	err := s.eachGraph(ctx, func(g *v1alpha1.ResourceGraph) (bool, error) {
		first = cmp.Or(first, client.ObjectKeyFromObject(g).String())
		namespaces[g.Namespace] = true
		return true, s.removeGraph(ctx, g)
	})
	if err == nil && first != "" {
		err = s.grantIn(ctx, slices.Sorted(maps.Keys(namespaces)))
	}
	if err != nil || first == "" {
		return nil, err
	}
	return &blocked{reason: reasonGraphs, after: s.Backoff, message: "graphs of deleted instances are being deleted, such as " + first}, nil
}

// removeGraph deletes a graph of the Transform whose owner doesn't exist. One without an owner
// was orphaned, and stays.
func (s *session) removeGraph(ctx context.Context, graph *v1alpha1.ResourceGraph) error {
	owner := metav1.GetControllerOf(graph)
	ours := roles.IsAccount(s.Namespace, s.key, graph.Annotations[v1alpha1.AnnotationAccount])
	if owner == nil || !ours || graph.DeletionTimestamp != nil {
		return nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	err := s.api.Get(ctx, types.NamespacedName{Namespace: graph.Namespace, Name: owner.Name}, live)
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
	case err != nil:
		return err
	case live.UID == owner.UID:
		return nil
	}
	return client.IgnoreNotFound(s.client.Delete(ctx, graph, client.Preconditions{UID: &graph.UID}))
}

// grantIn grants the rights of a deleted Transform in the namespaces of its last graphs. They
// are usually there. They are not if the manager ended after it had written the first graph of
// a namespace. If the module can't be loaded any more, this does nothing.
func (s *session) grantIn(ctx context.Context, namespaces []string) error {
	if s.t.Spec.RBACScope != v1alpha1.RBACNamespace || !s.generates() {
		return nil
	}
	for _, step := range []func(context.Context) (*blocked, error){s.fetch, s.load} {
		if b, err := step(ctx); b != nil || err != nil {
			return err
		}
	}
	rules, b, err := s.rules(ctx)
	if b != nil || err != nil {
		return err
	}
	grants := &roles.Grants{Rules: rules, Module: s.module(), Namespaces: namespaces}
	if err := s.keepRights(ctx, grants); err != nil {
		return err
	}
	return s.roles.Apply(ctx, s.key, grants)
}
