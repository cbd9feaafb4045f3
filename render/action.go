package render

import (
	"cmp"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// actionDefaults are what an `action` gets unless it says otherwise.
type actionDefaults struct {
	// instance is the name of the instance, with which the names of Actions begin.
	instance string
	// account is the service account of the graph, or "" for the default one.
	account string
}

// action reads the `action` of a node, which is short for a resource of the kind Action. It has
// the fields of the spec of an Action, and the field metadata. The name of the Action is
// INSTANCE-NODE by default, and its service account that of the graph. For example, this node of
// an instance shop
//
//	vpc: action: http: url: "https://api.example.com/vpcs"
//
// has the resource
//
//	apiVersion: "platform.pequod.io/v1alpha1"
//	kind:       "Action"
//	metadata: name: "shop-vpc"
//	spec: {serviceAccountName: "pequod", http: url: "https://api.example.com/vpcs"}
func (d *decoder) action(v cue.Value, path string, from *fromFields, decoded *decodedNode, n *v1alpha1.Node) {
	before := len(d.problems)
	decoded.action = true
	spec := d.filled(v, path, from)
	if len(d.problems) > before {
		return
	}
	metadata := map[string]any{}
	if given, ok := spec["metadata"]; ok {
		if metadata, ok = given.(map[string]any); !ok {
			d.problem(v, fieldpath.Join(path, "metadata"), problem.RuleGraph, "", "must be a struct")
			return
		}
	}
	delete(spec, "metadata")
	if _, ok := metadata["name"]; !ok {
		name := d.actions.instance + "-" + n.ID
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			d.problem(v, path, problem.RuleGraph, "set metadata.name", "%q can't be the name of the Action", name)
		}
		metadata["name"] = name
	}
	if _, ok := spec["serviceAccountName"]; !ok {
		spec["serviceAccountName"] = cmp.Or(d.actions.account, v1alpha1.DefaultServiceAccount)
	}
	d.setResource(v, path, map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Action", "metadata": metadata, "spec": spec,
	}, decoded, n)
}

// authored returns a path in a node as its author wrote it: resource.spec.http is action.http if
// the node has an action.
func (d *decoder) authored(id, path string) string {
	n := d.nodeOf(id)
	if n == nil || !n.action {
		return path
	}
	rest, ok := strings.CutPrefix(path, "resource")
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return path
	}
	if below, ok := strings.CutPrefix(rest, ".spec"); ok && (below == "" || below[0] == '.' || below[0] == '[') {
		rest = below
	}
	return "action" + rest
}

// located returns a problem of a graph at its line, with the path as the author wrote it. field is
// the path in the node, or in the output.
func (d *decoder) located(q graph.Problem, field string) problem.Problem {
	p := q.At(d.positionOf(q.Node, field))
	if q.Node != "" {
		p.Path = graph.NodePath(q.Node, d.authored(q.Node, q.Field))
	}
	return p
}
