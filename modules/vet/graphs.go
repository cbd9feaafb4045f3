package vet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// Graphs returns graphs that have the kinds which a module renders, in a stable order and without
// equal ones: to compute rights from them. They are the graphs of the samples that can be rendered
// like instances. A last graph has objects of other kinds, of samples that can't: they have nothing
// but apiVersion, kind and names, and roles also have their rules. The namespace of all is "example",
// and names are invented where the module takes them from the instance; [IsInvented] tells which.
//
// Kinds that no sample shows are not in the result, such as those below a guard that the package
// does not understand. An error of a sample is no error of Graphs; the error is about an
// evaluation that was stopped.
//
// The graphs depend on nothing but the module and the names of the kind: those of the module with
// other policies are the same.
func Graphs(ctx context.Context, p *render.Platform, limits render.Limits) ([]*v1alpha1.ResourceGraph, error) {
	bare := *p
	bare.Policies, bare.ServiceAccountName, bare.DeletionPolicy = nil, "", ""
	p = &bare
	c := &checker{platform: p, dropsValues: true, reported: map[problem.Problem]bool{}, anyNumber: true, guard: func(run func()) error {
		_, err := render.Guard(ctx, limits, p.Subject(), func() (struct{}, error) { run(); return struct{}{}, nil })
		return err
	}}
	var s *inputWalker
	c.guarded(func() { s = c.walkRender() })
	var all []*v1alpha1.ResourceGraph
	var others []candidate
	found, seen := map[access]bool{}, map[access]bool{}
	r := newConcrete(true)
	c.eachSample(s, func(g renderedGraph) {
		others = appendKinds(others, g, found)
		graphOf := r.render(c, g).Graph
		if graphOf == nil || slices.ContainsFunc(all, func(g *v1alpha1.ResourceGraph) bool { return g.Spec.RenderHash == graphOf.Spec.RenderHash }) {
			return
		}
		all = append(all, graphOf)
		for _, n := range graph.Read(graphOf).Nodes {
			if n.GroupKind().Group != rbacv1.GroupName { // another sample may have other rules
				seen[access{kind: n.GroupKind(), read: n.ExternalRef != nil}] = true
			}
		}
	})
	rest := &v1alpha1.ResourceGraph{}
	rest.APIVersion, rest.Kind = v1alpha1.GroupVersion.String(), "ResourceGraph"
	rest.Namespace, rest.Name = sampleName, v1alpha1.GraphName(p.Group, p.Kind, sampleName, sampleName)
	for _, o := range others {
		if !seen[o.access] {
			o.node.ID = fmt.Sprintf("kind-%d", len(rest.Spec.Graph.Nodes))
			rest.Spec.Graph.Nodes = append(rest.Spec.Graph.Nodes, o.node)
		}
	}
	if len(rest.Spec.Graph.Nodes) > 0 {
		all = append(all, rest)
	}
	return all, c.err
}

// IsInvented reports whether a name, a kind or a resource in a graph of [Graphs] is, or has a part
// that is, invented: instances have others.
func IsInvented(s string) bool {
	return isPlaceholder(s) || strings.Contains(strings.ToLower(s), sampleName)
}

// access is what a node does with the objects of a kind.
type access struct {
	kind apischema.GroupKind
	read bool // the node only refers to its object
	// rules are the rules of a role, in JSON.
	rules string
}

// candidate is a node without an id that stands for a kind, in case that no instance shows it.
type candidate struct {
	access access
	node   v1alpha1.Node
}

// appendKinds appends a node for each kind of a sample that was not found before.
func appendKinds(nodes []candidate, g renderedGraph, found map[access]bool) []candidate {
	for v := range nodeValues(g.value) {
		n := v1alpha1.Node{}
		apiVersion, kind := v1alpha1.GroupVersion.String(), "Action"
		object, external := get(v, "action"), false
		if !object.Exists() {
			object = get(v, "externalRef")
			if external = object.Exists(); !external {
				object = first(v, "resource", "object")
			}
			if !object.Exists() {
				continue
			}
			apiVersion, _ = text(get(object, "apiVersion"))
			kind, _ = text(get(object, "kind"))
		}
		to := access{kind: apischema.FromAPIVersionAndKind(apiVersion, kind).GroupKind(), read: external}
		content := map[string]any{"apiVersion": apiVersion, "kind": kind}
		if to.kind.Group == rbacv1.GroupName && !external {
			if data, err := get(object, "rules").MarshalJSON(); err == nil {
				to.rules, content["rules"] = string(data), json.RawMessage(data)
			}
		}
		if apiVersion == "" || kind == "" || found[to] {
			continue
		}
		found[to] = true
		names := object
		if !external {
			names = get(object, "metadata")
		}
		name, _ := text(get(names, "name"))
		name = cmp.Or(name, sampleName)
		namespace, _ := text(get(names, "namespace"))
		if external {
			n.ExternalRef = &v1alpha1.ObjectRef{APIVersion: apiVersion, Kind: kind, Name: name, Namespace: namespace}
		} else {
			metadata := map[string]string{"name": name}
			if namespace != "" {
				metadata["namespace"] = namespace
			}
			content["metadata"] = metadata
			data, err := json.Marshal(content)
			if err != nil {
				continue // cannot happen: all values come from JSON
			}
			n.Resource = &runtime.RawExtension{Raw: data}
		}
		nodes = append(nodes, candidate{to, n})
	}
	return nodes
}

// nodeValues yields the nodes of an evaluated graph, which may be a list or a map.
func nodeValues(v cue.Value) iter.Seq[cue.Value] {
	return func(yield func(cue.Value) bool) {
		nodes := get(v, "output", "nodes")
		if nodes.IncompleteKind() == cue.ListKind {
			for _, n := range elements(nodes) {
				if !yield(n) {
					return
				}
			}
			return
		}
		for _, n := range fields(nodes) {
			if !yield(n) {
				return
			}
		}
	}
}
