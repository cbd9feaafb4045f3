package roles

import (
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
)

// verbs are the verbs of managed resources that name none: those that an applier needs.
var verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Managed returns the rules of managed resources.
func Managed(resources []v1alpha1.ManagedResource) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, r := range resources {
		rule := rbacv1.PolicyRule{APIGroups: []string{r.APIGroup}, Resources: r.Resources, Verbs: r.Verbs}
		if len(rule.Verbs) == 0 {
			rule.Verbs = slices.Clone(verbs)
		}
		rules = append(rules, rule)
	}
	return rules
}

// EscalationError means that graphs ask for rights that reach beyond the namespace of an
// instance, or with which their account can gain other rights.
type EscalationError struct {
	// Lines has a line about each node and right, from package rbac.
	Lines []string
}

func (e *EscalationError) Error() string {
	more := ""
	if len(e.Lines) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(e.Lines)-1)
	}
	return e.Lines[0] + more
}

// Needs are the rights in the namespace of an instance that graphs were seen to need.
type Needs struct {
	Rules []rbacv1.PolicyRule
	// Open means that graphs also read objects whose kinds are not known, usually because an
	// instance names them.
	Open bool
}

// Seen returns the needs of graphs of samples. find returns the resource of a kind that
// Kubernetes doesn't define. The error is an [*EscalationError], or an [*rbac.UnknownKindError]
// for a kind that a graph writes and find doesn't know.
func Seen(samples []*v1alpha1.ResourceGraph, find func(schema.GroupKind) (rbac.Resource, error)) (Needs, error) {
	var needs Needs
	if len(samples) == 0 {
		return needs, nil
	}
	// The samples are graphs of one namespace. They get one account, so that their rules are
	// merged.
	namespace := samples[0].Namespace
	graphs := make([]*v1alpha1.ResourceGraph, len(samples))
	for i, s := range samples {
		graphs[i] = s.DeepCopy()
		graphs[i].Spec.ServiceAccountName = "platform"
	}
	kinds := rbac.Resources{}
	made, err := rbac.Generate(graphs, rbac.Options{Resources: kinds})
	for err != nil {
		var unknown *rbac.UnknownKindError
		if !errors.As(err, &unknown) {
			return needs, err
		}
		resource, missing := find(unknown.GroupKind)
		switch {
		case missing == nil:
			kinds[unknown.GroupKind] = resource
		case dropReads(graphs, unknown.GroupKind):
			needs.Open = true
		default:
			return needs, unknown
		}
		made, err = rbac.Generate(graphs, rbac.Options{Resources: kinds})
	}
	if len(made.Escalations) > 0 {
		return needs, &EscalationError{Lines: made.Escalations}
	}
	for _, role := range made.Roles {
		if role.Namespace == namespace {
			needs.Rules = role.Rules
		}
	}
	return needs, nil
}

// dropReads removes the external references of a kind from graphs. It returns false if there
// is none, or if a graph writes objects of the kind.
func dropReads(graphs []*v1alpha1.ResourceGraph, kind schema.GroupKind) bool {
	dropped := false
	for _, g := range graphs {
		nodes := len(g.Spec.Graph.Nodes)
		g.Spec.Graph.Nodes = slices.DeleteFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool {
			return n.ExternalRef != nil && schema.FromAPIVersionAndKind(n.ExternalRef.APIVersion, n.ExternalRef.Kind).GroupKind() == kind
		})
		dropped = dropped || len(g.Spec.Graph.Nodes) < nodes
	}
	return dropped
}
