package monitor

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// findInstance finds the instance that the Monitor is part of: the owner of its graph. Developers look for
// Events there, and may not know of the Monitor. The graph is read once for a Monitor.
func (s *session) findInstance(ctx context.Context) {
	name := ""
	if s.m.Labels[v1alpha1.LabelGraphNamespace] == s.m.Namespace { // an Event is in the namespace of its object
		name = s.m.Labels[v1alpha1.LabelGraph]
	}
	if name == s.known.graph {
		return
	}
	graph := &metav1.PartialObjectMetadata{}
	graph.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ResourceGraph"))
	if name != "" {
		err := s.reader.Get(ctx, types.NamespacedName{Namespace: s.m.Namespace, Name: name}, graph)
		if err != nil && !apierrors.IsNotFound(err) { // a graph of pequod apply is not in the cluster
			s.log.Error(err, "the Events of a Monitor are not on its instance", "namespace", s.m.Namespace, "name", s.m.Name, "graph", name)
			if !apierrors.IsForbidden(err) {
				return // it is read again
			}
		}
	}
	s.known.graph, s.known.instance = name, nil
	owner := metav1.GetControllerOfNoCopy(graph)
	if owner == nil || schema.FromAPIVersionAndKind(owner.APIVersion, "").Group == v1alpha1.Group {
		return
	}
	s.known.instance = &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: owner.APIVersion, Kind: owner.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.m.Namespace, Name: owner.Name, UID: owner.UID},
	}
}
