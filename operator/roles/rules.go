package roles

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
)

// verbs are the verbs of managed resources that name none: those that an applier needs.
var verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Managed returns the rules of managed resources, and those to find out why objects that graphs
// write are not ready.
func Managed(resources []v1alpha1.ManagedResource) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	var written []schema.GroupResource
	for _, r := range resources {
		rule := rbacv1.PolicyRule{APIGroups: []string{r.APIGroup}, Resources: r.Resources, Verbs: r.Verbs}
		if len(rule.Verbs) == 0 {
			rule.Verbs = slices.Clone(verbs)
		}
		rules = append(rules, rule)
		if !slices.Contains(rule.Verbs, "create") && !slices.Contains(rule.Verbs, "patch") {
			continue
		}
		for _, name := range r.Resources {
			if !strings.Contains(name, "/") { // a subresource is not an object
				written = append(written, schema.GroupResource{Group: r.APIGroup, Resource: name})
			}
		}
	}
	return append(rules, rbac.Causes(written)...)
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
	// Unknown are the kinds that the cluster doesn't know, of objects that some graphs write or
	// read. Rules lacks them.
	Unknown []schema.GroupKind
}

// Seen returns the needs of graphs of samples with a deletion policy. find returns the resource of a kind that
// Kubernetes doesn't define. The error is an [*EscalationError].
func Seen(samples []*v1alpha1.ResourceGraph, deletion v1alpha1.DeletionPolicy, find func(schema.GroupKind) (rbac.Resource, error)) (Needs, error) {
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
		graphs[i].Spec.ServiceAccountName, graphs[i].Spec.DeletionPolicy = "platform", deletion
	}
	// Generate names one kind after the other that it doesn't know.
	kinds := rbac.Resources{}
	made, err := rbac.Generate(graphs, rbac.Options{Resources: kinds})
	for err != nil {
		var unknown *rbac.UnknownKindError
		if !errors.As(err, &unknown) {
			return needs, err
		}
		if resource, err := find(unknown.GroupKind); err == nil {
			kinds[unknown.GroupKind] = resource
		} else {
			drop(graphs, unknown.GroupKind)
			needs.Unknown = append(needs.Unknown, unknown.GroupKind)
		}
		made, err = rbac.Generate(graphs, rbac.Options{Resources: kinds})
	}
	// Rights outside of the instance's namespace would be those of every instance, whoever writes
	// it. An administrator has to list them.
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

// drop removes the nodes of a kind from graphs.
func drop(graphs []*v1alpha1.ResourceGraph, kind schema.GroupKind) {
	for _, g := range graphs {
		read := graph.Read(g)
		g.Spec.Graph.Nodes = slices.DeleteFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool {
			return slices.ContainsFunc(read.Nodes, func(r graph.Node) bool { return r.ID == n.ID && r.GroupKind() == kind })
		})
	}
}
