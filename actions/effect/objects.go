package effect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/receiver"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	// maxObjects is the number of objects that one effect may change.
	maxObjects = 500
	// maxConflicts is how often a write is repeated because another client has changed the
	// object.
	maxConflicts = 10
)

// step is one effect of one message.
type step struct {
	*Effects
	client    dynamic.Interface
	namespace string
	account   string
	receiver  string
	order     order
	receipt   receipt
	result    *Result
}

// reconcile requests a reconciliation of objects.
func (s *step) reconcile(ctx context.Context, r *v1alpha1.ReceiverReconcile) error {
	kind, err := receiver.Kind(r)
	if err != nil {
		return &source.Error{Class: source.Failed, Message: err.Error()}
	}
	annotation := v1alpha1.AnnotationReconcileRequestedAt
	if isFlux(kind.Group) {
		annotation = v1alpha1.AnnotationFluxRequestedAt
	}
	return s.annotate(ctx, kind, &r.ReceiverTarget, annotation)
}

// observe has Actions look at their open runs.
func (s *step) observe(ctx context.Context, t *v1alpha1.ReceiverTarget) error {
	return s.annotate(ctx, v1alpha1.GroupVersion.WithKind("Action"), t, v1alpha1.AnnotationObserveRequestedAt)
}

// resource has the objects of a kind in the namespace of the Receiver.
type resource struct {
	client dynamic.ResourceInterface
	// name identifies the kind, the namespace and the account.
	name string
}

// resource returns the objects of a kind, which must have namespaces.
func (s *step) resource(kind schema.GroupVersionKind) (resource, error) {
	mapping, err := s.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return resource{}, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource{}, &source.Error{Class: source.Failed, Message: fmt.Sprintf("kind %s has no namespaces", kind.Kind)}
	}
	name := fmt.Sprintf("%s %s %s %s", mapping.Resource.GroupResource(), mapping.Resource.Version, s.namespace, s.account)
	return resource{s.client.Resource(mapping.Resource).Namespace(s.namespace), name}, nil
}

// annotate sets an annotation of the selected objects to the time.
func (s *step) annotate(ctx context.Context, kind schema.GroupVersionKind, t *v1alpha1.ReceiverTarget, annotation string) error {
	objects, err := s.resource(kind)
	if err != nil {
		return err
	}
	if t.Name != "" {
		return s.ask(ctx, objects, t.Name, &request{step: s, annotation: annotation, when: t.When})
	}
	selector, err := metav1.LabelSelectorAsSelector(t.Selector)
	if err != nil {
		return &source.Error{Class: source.Failed, Message: err.Error()}
	}
	list, err := s.list(ctx, objects, selector.String())
	if err != nil {
		return err
	}
	for i := range list {
		selected, err := s.selected(t.When, &list[i])
		if err != nil {
			return err
		}
		if !selected {
			continue
		}
		err = s.ask(ctx, objects, list[i].GetName(), &request{step: s, annotation: annotation, when: t.When, object: &list[i]})
		if err != nil && !apierrors.IsNotFound(err) { // it was deleted meanwhile
			return err
		}
	}
	return nil
}

// selected reports whether an object is one that the message is about.
func (s *step) selected(when v1alpha1.ReceiverExpression, object *unstructured.Unstructured) (bool, error) {
	if when == "" {
		return true, nil
	}
	vars := map[string]any{"object": object.Object}
	for name, value := range s.order.vars {
		vars[name] = value
	}
	pass, err := expression.Bool(expression.MessageObject(), string(when), vars)
	if err != nil {
		return false, &source.Error{Class: source.Refused, Message: fmt.Sprintf("when: %s: %v", object.GetName(), err)}
	}
	return pass, nil
}

// Kinds are the kinds that Receivers may change, beside those that have a request for a
// reconciliation by themselves.
type Kinds struct{ entries []schema.GroupKind } // a Kind "*" means all kinds of the group

// ParseKinds parses entries such as DatabaseCluster.infra.example.com or *.infra.example.com.
func ParseKinds(entries []string) (Kinds, error) {
	var k Kinds
	for _, entry := range entries {
		kind, group, found := strings.Cut(strings.TrimSpace(entry), ".")
		if !found || kind == "" || len(validation.IsDNS1123Subdomain(group)) > 0 {
			return k, fmt.Errorf("%q is not KIND.GROUP or *.GROUP", entry)
		}
		k.entries = append(k.entries, schema.GroupKind{Group: group, Kind: kind})
	}
	return k, nil
}

// allows reports whether a kind is listed.
func (k Kinds) allows(kind schema.GroupKind) bool {
	return slices.ContainsFunc(k.entries, func(e schema.GroupKind) bool {
		return e.Group == kind.Group && (e.Kind == "*" || e.Kind == kind.Kind)
	})
}

// isFlux reports whether a group is one of Flux.
func isFlux(group string) bool { return strings.HasSuffix(group, ".toolkit.fluxcd.io") }

// reconciles reports whether a reconciliation of a kind may be requested.
func (k Kinds) reconciles(kind schema.GroupKind) bool {
	own := kind.Group == v1alpha1.Group && slices.Contains([]string{"Action", "ResourceGraph", "Transform"}, kind.Kind)
	return own || isFlux(kind.Group) || k.allows(kind)
}
