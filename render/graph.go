package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Sizes of a graph as JSON, in bytes: past the first, client-side apply can't
// keep its annotation; past the second, the object with its status would near
// etcd's limit of 1.5 MiB for a request.
const (
	warnSize = 200 << 10
	maxSize  = 700 << 10
)

// graph reads #Render.output into a ResourceGraph and checks it.
func (r *Renderer) graph(v cue.Value, in *Instance, p *Platform) (*v1alpha1.ResourceGraph, problem.List) {
	out := v.LookupPath(cue.MakePath(cue.Str("output")))
	d := &decoder{}
	g := d.graph(out)
	if d.problems.Failed() {
		return nil, d.problems
	}
	rg := newGraph(in, p)
	rg.Spec.Graph = *g
	for _, q := range graph.Check(rg) {
		d.problems = append(d.problems, q.At(d.place(q.Node, q.Field)))
	}
	if !r.AllowSecrets {
		d.secrets()
	}
	if d.problems.Failed() {
		return nil, d.problems
	}
	r.check(rg, d)
	violations := d.violations
	for _, policy := range slices.Concat(p.Policies, r.Policies) {
		found, problems := r.policy(policy, v, d)
		violations = append(violations, found...)
		d.problems = append(d.problems, problems...)
	}
	rg.Spec.Graph.Violations = nil
	for _, f := range violations {
		d.problems = append(d.problems, f.problem(in, d))
		rg.Spec.Graph.Violations = append(rg.Spec.Graph.Violations, f.Violation)
	}
	if d.problems.Failed() {
		return nil, d.problems
	}
	d.problems = append(d.problems, seal(rg)...)
	return rg, d.problems
}

// check asks Options.Check about every node.
func (r *Renderer) check(rg *v1alpha1.ResourceGraph, d *decoder) {
	if r.Check == nil {
		return
	}
	for i, n := range rg.Spec.Graph.Nodes {
		for _, p := range r.Check(n, d.nodes[i].object) {
			p.Position = d.place(n.ID, p.Path)
			p.Path = graph.NodePath(n.ID, p.Path)
			d.problems = append(d.problems, p)
		}
	}
}

// newGraph gives the graph of an instance with everything but its nodes.
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

// seal gives a graph its hash and holds it to its size.
func seal(g *v1alpha1.ResourceGraph) problem.List {
	data, err := json.Marshal(g.Spec.Graph)
	if err != nil {
		return problem.List{{Rule: problem.RuleGraph, Message: err.Error()}}
	}
	g.Spec.RenderHash = graph.HashJSON(data)
	size := len(data)
	if size <= warnSize {
		return nil
	}
	p := problem.Problem{Rule: problem.RuleSize, Message: fmt.Sprintf("graph of %s is over %s, too much for client-side apply",
		kib(size), kib(warnSize)), Hint: "apply it with kubectl apply --server-side; " + largest(g), Severity: problem.Warning}
	if size > maxSize {
		p.Severity = problem.Error
		p.Message = fmt.Sprintf("graph of %s is over %s", kib(size), kib(maxSize))
		p.Hint = largest(g)
	}
	return problem.List{p}
}

func kib(n int) string { return fmt.Sprintf("%d KiB", (n+1023)/1024) }

// largest names the nodes that take most of the room.
func largest(g *v1alpha1.ResourceGraph) string {
	type sized struct {
		id   string
		size int
	}
	var nodes []sized
	for _, n := range g.Spec.Graph.Nodes {
		if n.Resource != nil {
			nodes = append(nodes, sized{n.ID, len(n.Resource.Raw)})
		}
	}
	slices.SortStableFunc(nodes, func(a, b sized) int { return b.size - a.size })
	var parts []string
	for i, n := range nodes {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("%d more", len(nodes)-i))
			break
		}
		parts = append(parts, n.id+" "+kib(n.size))
	}
	return "nodes: " + strings.Join(parts, ", ")
}

// secrets refuses Secrets with values that would stand in git in clear text.
func (d *decoder) secrets() {
	for _, n := range d.nodes {
		keys := graph.LiteralSecretKeys(n.object)
		if len(keys) == 0 {
			continue
		}
		d.problems = append(d.problems, problem.Problem{
			Position: d.place(n.id, "resource"), Path: graph.NodePath(n.id, "resource"), Rule: problem.RuleSecret,
			Message: "Secret with literal data (" + strings.Join(keys, ", ") + ")",
			Hint:    "use $generate, reference a Secret that exists, or pass --allow-secrets",
		})
	}
}

func raw(v any) (*runtime.RawExtension, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: data}, nil
}
