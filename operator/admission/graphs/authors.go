package graphs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
)

// Verbs of constrained impersonation.
const (
	actAs   = "impersonate:serviceaccount"
	actWith = "impersonate-on:serviceaccount:"
)

// maxMissing is the number of missing rights in a message.
const maxMissing = 5

// author is the user of one request.
type author struct {
	user    authenticationv1.UserInfo
	reviews *reviews
	account string // default service account
}

// accountOf returns the service account of a graph, or "". Graphs of pequod-manager that
// name none run as an account of another namespace.
func (a *author) accountOf(rg *v1alpha1.ResourceGraph) string {
	if rg.Labels[v1alpha1.LabelOperator] == v1alpha1.OperatorExecutes {
		return rg.Spec.ServiceAccountName
	}
	return cmp.Or(rg.Spec.ServiceAccountName, a.account)
}

// mayImpersonate reports whether the author has a verb on the service account of the graph.
func (a *author) mayImpersonate(ctx context.Context, rg *v1alpha1.ResourceGraph, group, verb string) (bool, error) {
	if a.accountOf(rg) == "" {
		return false, nil
	}
	return a.reviews.allowed(ctx, a.user, rbac.Right{
		Verb: verb, Group: group, Resource: "serviceaccounts", Namespace: rg.Namespace, Name: a.accountOf(rg),
	})
}

// check returns why the author may not write the graph, or "". The author may not
// impersonate the graph's account without constraints.
func (a *author) check(ctx context.Context, rg *v1alpha1.ResourceGraph, needed []rbac.NodeRight) (string, error) {
	missing, err := a.reviews.missing(ctx, a.user, needed)
	if err != nil || len(missing) == 0 {
		return "", err
	}
	acts, err := a.mayImpersonate(ctx, rg, authenticationv1.GroupName, actAs)
	if err != nil {
		return "", err
	}
	if acts {
		var requests []rbac.NodeRight
		for _, r := range needed {
			if !r.Escalation {
				r.Verb = actWith + r.Verb
				requests = append(requests, r)
			}
		}
		if missing, err = a.reviews.missing(ctx, a.user, requests); err != nil || len(missing) == 0 {
			return "", err
		}
	}
	return a.refusal(rg, "do not include what the nodes of the graph do: "+list(missing)), nil
}

// list names the first of the missing rights with their nodes. kubectl auth can-i takes
// them as arguments.
func list(missing []rbac.NodeRight) string {
	var text strings.Builder
	node := ""
	for i, r := range missing[:min(len(missing), maxMissing)] {
		switch {
		case r.Node == "":
			text.WriteString("spec.kubeConfig: ")
		case i == 0:
			fmt.Fprintf(&text, "node %s: ", r.Node)
		case r.Node != node:
			fmt.Fprintf(&text, "; node %s: ", r.Node)
		default:
			text.WriteString(", ")
		}
		node = r.Node
		text.WriteString(r.String())
	}
	if more := len(missing) - maxMissing; more > 0 {
		fmt.Fprintf(&text, "; %d more", more)
	}
	return text.String()
}

// refusal returns the message about an author whose rights are not sufficient.
func (a *author) refusal(rg *v1alpha1.ResourceGraph, why string) string {
	text := fmt.Sprintf("the rights of user %q %s", a.user.Username, why)
	if name := a.accountOf(rg); name != "" {
		return text + fmt.Sprintf(" (the right to impersonate serviceaccounts/%s -n %s would suffice)", name, rg.Namespace)
	}
	return text + " (the right to impersonate a service account that the graph names would suffice)"
}
