package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// graph turns the evaluated #Render into a ResourceGraph. It returns nil if a
// stage reports an error; later stages rely on earlier ones. The stages:
//
// 1. Decode the output, and check the graph and its Secrets.
//
// 2. Ask [Options.Check] about the nodes, and all policies about the instance.
//
// 3. Copy the violations into the graph. Those that are errors refuse the
// instance.
//
// 4. Seal the graph.
//
// It returns the graph, its objects and the positions of its nodes in the module as the
// parts of a [Result], which the caller completes.
func (r *Renderer) graph(v cue.Value, in *Instance, p *Platform) (Result, problem.List) {
	out := v.LookupPath(cue.MakePath(cue.Str("output")))
	d := &decoder{actions: actionDefaults{instance: in.Name, account: p.ServiceAccountName}}
	g := d.graph(out)
	if d.problems.Failed() {
		return Result{}, d.problems
	}
	rg := newGraph(in, p)
	rg.Spec.Graph, rg.Spec.Adopt = *g, d.adopted
	if in.adoptsAll() {
		if err := adoptAll(rg); err != nil {
			return Result{}, problem.List{{Path: "metadata.annotations", Rule: problem.RuleGraph, Message: err.Error()}}
		}
	}
	// The check is shared with everything that executes graphs, so an accepted graph is
	// not refused later for its form.
	read := graph.Read(rg)
	for _, q := range read.Problems() {
		d.problems = append(d.problems, d.located(q, strings.TrimPrefix(q.Field, "spec.")))
	}
	if !r.AllowSecrets {
		d.refuseSecrets()
	}
	if d.problems.Failed() {
		return Result{}, d.problems
	}
	r.checkNodes(rg, d)
	// The module's own violations come first, then those of the platform's
	// policies and of the organization's.
	violations := d.found
	for _, policy := range slices.Concat(p.Policies, r.Policies) {
		found, problems := r.policy(policy, v, d.nodes)
		violations = append(violations, found...)
		d.problems = append(d.problems, problems...)
	}
	rg.Spec.Graph.Violations = nil
	for _, f := range violations {
		d.problems = append(d.problems, f.problem(in))
		rg.Spec.Graph.Violations = append(rg.Spec.Graph.Violations, f.Violation)
	}
	if d.problems.Failed() {
		return Result{}, d.problems
	}
	d.problems = append(d.problems, seal(rg)...)
	return Result{Graph: rg, Owned: read.Owned(), Positions: d.positions()}, d.problems
}

// newGraph returns the graph of an instance without its nodes. Its name is a
// function of the instance's names, so that rendering again gives the same graph.
func newGraph(in *Instance, p *Platform) *v1alpha1.ResourceGraph {
	g := &v1alpha1.ResourceGraph{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResourceGraph"},
	}
	g.Name = v1alpha1.GraphName(in.Group(), in.Kind, in.Namespace, in.Name)
	g.Namespace = in.graphNamespace
	g.Labels = map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		v1alpha1.LabelTransform: v1alpha1.LabelValue(p.Transform),
		v1alpha1.LabelInstance:  v1alpha1.LabelValue(in.Name),
	}
	g.Spec.SourceRef = in.ObjectRef
	g.Spec.PlatformRef = v1alpha1.PlatformRef{Module: p.Module.Name, Version: p.Module.Version, Digest: p.Module.Digest}
	g.Spec.ServiceAccountName = p.ServiceAccountName
	g.Spec.DeletionPolicy = p.DeletionPolicy
	return g
}

// refuseSecrets reports Secrets whose values would be stored in git in plain
// text. It looks at literal values only; late references and generated values are
// the way out.
func (d *decoder) refuseSecrets() {
	for _, n := range d.nodes {
		keys := graph.LiteralSecretKeys(n.object)
		if len(keys) == 0 {
			continue
		}
		d.problems = append(d.problems, problem.Problem{
			Position: d.positionOf(n.id, "resource"), Path: graph.NodePath(n.id, "resource"), Rule: problem.RuleSecret,
			Message: "Secret with literal data (" + strings.Join(keys, ", ") + ")",
			Hint:    "use $generate, reference a Secret that exists, or pass --allow-secrets",
		})
	}
}
