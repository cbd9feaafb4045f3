package transforms

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/fetch"
)

// Webhook answers the API server's reviews of requests that write Transforms. It is safe for
// concurrent use.
type Webhook struct {
	// Allowed reports whether Transforms of a namespace are used.
	Allowed func(namespace string) bool
	// Transforms lists all Transforms, and Definitions reads CustomResourceDefinitions.
	Transforms, Definitions client.Reader
	// Mapper finds the resources of kinds.
	Mapper meta.RESTMapper
}

var _ admission.Handler = (*Webhook)(nil)

// Handle answers one request. A check that fails by a request of its own is no refusal.
func (w *Webhook) Handle(ctx context.Context, request admission.Request) admission.Response {
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	t := &v1alpha1.Transform{}
	if err := json.Unmarshal(request.Object.Raw, t); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("reading the Transform: %w", err))
	}
	t.Namespace = request.Namespace
	problems := append(w.namespace(t), references(t.Spec)...)
	claimed, err := w.kind(ctx, t)
	if err != nil {
		return serve.Unavailable("Transform " + t.Name + " could not be checked: " + err.Error())
	}
	if problems = append(problems, claimed...); problems.Failed() {
		return serve.Invalid(schema.GroupKind{Group: v1alpha1.Group, Kind: "Transform"}, t.Name, problems)
	}
	return admission.Allowed("")
}

// namespace returns the problem of a Transform that would be ignored.
func (w *Webhook) namespace(t *v1alpha1.Transform) problem.List {
	if w.Allowed(t.Namespace) {
		return nil
	}
	return problem.List{{Path: "metadata.namespace", Rule: problem.RuleTransform,
		Message: "Transforms of namespace " + t.Namespace + " are ignored: --transform-namespaces of pequod-manager lacks it"}}
}

// references returns the problems of the references to modules.
func references(spec v1alpha1.TransformSpec) (problems problem.List) {
	all := transform.References(spec)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if err := fetch.Check(all[path]); err != nil {
			problems = append(problems, problem.Problem{Path: fieldpath.Join(path, "ref"), Rule: problem.RuleTransform, Message: err.Error()})
		}
	}
	return problems
}

// kind returns the problems of a Transform that names a kind which is reserved, or which
// another Transform or CRD has.
func (w *Webhook) kind(ctx context.Context, t *v1alpha1.Transform) (problem.List, error) {
	kind := schema.GroupKind{Group: t.Spec.Group, Kind: t.Spec.Kind}
	refused := func(path, message string) problem.List {
		return problem.List{{Path: path, Rule: problem.RuleTransform, Message: message}}
	}
	if kind.Group == "" {
		return nil, nil
	}
	if err := definitions.Reserved(kind.Group); err != nil {
		return refused("spec.group", err.Error()), nil
	}
	if kind.Kind == "" {
		return nil, nil
	}
	var others v1alpha1.TransformList
	if err := w.Transforms.List(ctx, &others); err != nil {
		return nil, err
	}
	mapping, err := w.Mapper.RESTMapping(kind)
	switch {
	case meta.IsNoMatchError(err):
		// The kind isn't served, but another Transform may be about to define it.
		for _, other := range others.Items {
			same := other.Namespace == t.Namespace && other.Name == t.Name
			if !same && other.Spec.Group == kind.Group && other.Spec.Kind == kind.Kind && w.Allowed(other.Namespace) {
				return refused("spec.kind", fmt.Sprintf("Transform %s/%s generates %s", other.Namespace, other.Name, kind)), nil
			}
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	name := mapping.Resource.GroupResource().String()
	if err := w.Definitions.Get(ctx, client.ObjectKey{Name: name}, crd); apierrors.IsNotFound(err) {
		return nil, nil // it is being deleted
	} else if err != nil {
		return nil, err
	}
	for _, other := range others.Items {
		if other.Status.GeneratedCRD != name || !w.Allowed(other.Namespace) {
			continue
		}
		if other.Namespace == t.Namespace && other.Name == t.Name {
			return nil, nil
		}
		return refused("spec.kind", fmt.Sprintf("CustomResourceDefinition %s exists: Transform %s/%s generates it", name, other.Namespace, other.Name)), nil
	}
	if definitions.Applied(crd, t) {
		return nil, nil
	}
	how := definitions.Adoptable(crd, t)
	if how == "" {
		return nil, nil
	}
	return refused("spec.kind", fmt.Sprintf("CustomResourceDefinition %s exists: %s; %s", name, definitions.Owner(crd), how)), nil
}
