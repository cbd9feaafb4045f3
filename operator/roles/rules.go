package roles

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

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

// Seen returns the rules in the namespace of an instance that graphs of samples need. kinds are
// the resources of kinds that Kubernetes doesn't define. The error is an [*EscalationError], or
// joins an [*rbac.UnknownKindError] for every kind whose resource isn't known.
func Seen(samples []*v1alpha1.ResourceGraph, kinds rbac.Resources) ([]rbacv1.PolicyRule, error) {
	if len(samples) == 0 {
		return nil, nil
	}
	// The samples are graphs of one namespace. They get one account, so that their rules are
	// merged.
	namespace := samples[0].Namespace
	graphs := make([]*v1alpha1.ResourceGraph, len(samples))
	for i, s := range samples {
		graphs[i] = s.DeepCopy()
		graphs[i].Spec.ServiceAccountName = "platform"
	}
	made, err := rbac.Generate(graphs, rbac.Options{Resources: kinds})
	if err != nil {
		return nil, err
	}
	if len(made.Escalations) > 0 {
		return nil, &EscalationError{Lines: made.Escalations}
	}
	for _, role := range made.Roles {
		if role.Namespace == namespace {
			return role.Rules, nil
		}
	}
	return nil, nil
}
