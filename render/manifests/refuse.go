package manifests

import (
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// cant ends every message of this file.
const cant = " can't be carried by plain manifests"

// refuse reports everything of a node that plain manifests would lose.
func (p *plain) refuse(n *graph.Node) {
	if n.ExternalRef != nil {
		p.problem(n, "externalRef", "an object that is only read"+cant, "they hold what is applied, and nothing else")
	}
	for _, late := range n.References {
		p.problem(n, append(reference.Path{"resource"}, late.Path...).String(), "a late reference"+cant,
			"nothing resolves it outside the cluster")
	}
	for _, generate := range n.Generates {
		p.problem(n, append(reference.Path{"resource"}, generate.Path...).String(), "a generated value"+cant,
			"it is made in the cluster")
	}
	for k, check := range n.ReadyWhen {
		p.refuseReady(n, k, check)
	}
	if n.ApplyPolicy != nil {
		p.refusePolicy(n, *n.ApplyPolicy)
	}
}

// refuseReady reports a readiness check that other tools do not know. They
// wait for the condition Ready and for the kinds that kstatus knows.
func (p *plain) refuseReady(n *graph.Node, k int, check v1alpha1.ReadyCheck) {
	path := fmt.Sprintf("readyWhen[%d]", k)
	switch {
	case check.Type == v1alpha1.ReadyExpression:
		p.problem(n, path, "a readiness expression"+cant, "whoever applies them judges readiness by rules of its own")
	case check.Type == v1alpha1.ReadyConditionMatch &&
		(check.ConditionType != "Ready" || check.ConditionStatus != "" && check.ConditionStatus != "True"):
		p.problem(n, path, "a condition to wait for"+cant, "the condition Ready, which everybody waits for, can")
	}
}

// refusePolicy reports the parts of an apply policy that have no counterpart.
func (p *plain) refusePolicy(n *graph.Node, policy v1alpha1.ApplyPolicy) {
	if mode := policy.Mode; mode == v1alpha1.ApplyModeCreate || mode == v1alpha1.ApplyModeAdopt {
		p.problem(n, "applyPolicy.mode", string("mode "+mode)+cant, "")
	}
	if policy.ConflictPolicy == v1alpha1.ConflictForce && p.tool == AnyTool {
		p.problem(n, "applyPolicy.conflictPolicy", "conflictPolicy Force"+cant, "Argo CD and Flux always force; annotate for one of them")
	}
	if m := policy.FieldManager; m != "" && m != v1alpha1.ManagedBy {
		p.problem(n, "applyPolicy.fieldManager", "a field manager"+cant, "each tool has its own")
	}
	if len(policy.IgnoreFields) > 0 {
		p.problem(n, "applyPolicy.ignoreFields", "fields to ignore"+cant, "leave them out of the resource")
	}
	if policy.Recreate == v1alpha1.RecreateOnImmutable && p.tool != Flux {
		p.problem(n, "applyPolicy.recreate", "recreate OnImmutable"+cant, "Flux does it; annotate for Flux")
	}
}
