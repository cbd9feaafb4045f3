package roles

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/modules/vet"
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

// Seen returns the needs of graphs of samples with a deletion policy: the rules that [rbac.Generate] has
// for them, for all instances. find returns the resource of a kind that Kubernetes doesn't define. The
// error is an [*EscalationError].
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
	var chosen []rbacv1.PolicyRule // on kinds that instances choose
	made, err := rbac.Generate(graphs, rbac.Options{Resources: kinds})
	for err != nil {
		var unknown *rbac.UnknownKindError
		if !errors.As(err, &unknown) {
			return needs, err
		}
		if resource, err := find(unknown.GroupKind); err == nil {
			kinds[unknown.GroupKind] = resource
		} else {
			written := drop(graphs, unknown.GroupKind)
			if !written && vet.IsInvented(unknown.Kind) && !isCamelCase(unknown.Kind) {
				chosen = append(chosen, usual("get", "list", "watch")...)
			} else {
				needs.Unknown = append(needs.Unknown, unknown.GroupKind)
			}
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
			needs.Rules = rbac.Merge(append(forInstances(role.Rules, kinds), chosen...))
		}
	}
	return needs, nil
}

// forInstances returns the rules of samples without what samples invent. A rule on an object that
// the instance names becomes one on all objects of its kind, and a rule on a kind that the instance
// names becomes one on the usual kinds. Kinds that the cluster has are not invented. The verb bind is
// left out: the account has the rules of the roles that its graphs write, so it may bind these roles,
// and an EscalationError is about others.
func forInstances(rules []rbacv1.PolicyRule, kinds rbac.Resources) []rbacv1.PolicyRule {
	known := map[schema.GroupResource]bool{}
	for kind, resource := range kinds {
		known[schema.GroupResource{Group: kind.Group, Resource: resource.Name}] = true
	}
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "bind" })
		isInvented := func(resource string) bool {
			return vet.IsInvented(resource) && !slices.ContainsFunc(rule.APIGroups, func(group string) bool {
				return known[schema.GroupResource{Group: group, Resource: resource}]
			})
		}
		written := slices.DeleteFunc(slices.Clone(rule.Resources), isInvented)
		if len(written) < len(rule.Resources) || slices.ContainsFunc(rule.APIGroups, isInventedGroup) {
			all = append(all, usual(rule.Verbs...)...)
		}
		if len(written) == 0 && len(rule.Resources) > 0 || slices.ContainsFunc(rule.APIGroups, isInventedGroup) {
			continue
		}
		rule.Resources = written
		if slices.ContainsFunc(rule.ResourceNames, vet.IsInvented) {
			rule.ResourceNames = nil
		}
		if len(rule.Verbs) > 0 {
			all = append(all, rule)
		}
	}
	return all
}

// isInventedGroup reports whether samples invent an API group. All of its parts are invented then:
// groups that a module writes may end in example.org.
func isInventedGroup(group string) bool {
	for part := range strings.SplitSeq(group, ".") {
		if !vet.IsInvented(part) {
			return false
		}
	}
	return true
}

// isCamelCase reports whether a kind is written like ExampleKind. Samples invent others.
func isCamelCase(kind string) bool {
	return kind != "" && kind[0] >= 'A' && kind[0] <= 'Z' && kind != strings.ToUpper(kind)
}

// usual returns the rules with those of some verbs that a manager may grant as it is installed.
func usual(verbs ...string) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for doc := range bytes.SplitSeq(config.Grants, []byte("\n---\n")) {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(doc, &role); err != nil {
			panic(err) // cannot happen: a test reads the embedded file
		}
		for _, rule := range role.Rules {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return !slices.Contains(verbs, verb) })
			if len(rule.Verbs) > 0 {
				all = append(all, rule)
			}
		}
	}
	return all
}

// drop removes the nodes of a kind from graphs. It reports whether one of them wrote its object.
func drop(graphs []*v1alpha1.ResourceGraph, kind schema.GroupKind) (written bool) {
	for _, g := range graphs {
		read := graph.Read(g)
		g.Spec.Graph.Nodes = slices.DeleteFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool {
			dropped := slices.ContainsFunc(read.Nodes, func(r graph.Node) bool { return r.ID == n.ID && r.GroupKind() == kind })
			written = written || dropped && n.ExternalRef == nil
			return dropped
		})
	}
	return written
}
