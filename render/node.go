package render

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// The fields of a node and of the structs in it. object and dependsOn are
// legacy names.
var (
	nodeFields        = []string{"id", "resource", "action", "externalRef", "dependencies", "readyWhen", "applyPolicy", "from", "object", "dependsOn"}
	readyCheckFields  = []string{"type", "conditionType", "conditionStatus", "expr"}
	externalRefFields = []string{"apiVersion", "kind", "name", "namespace"}
	applyPolicyFields = []string{"mode", "conflictPolicy", "fieldManager", "ignoreFields", "recreate", "deletionPolicy", "timeout"}
)

// node reads one node. key is its id in a map of nodes, "" in a list. Paths of
// problems begin with the node's id in both cases, so that a list and a map look
// alike.
func (d *decoder) node(v cue.Value, path, key string) v1alpha1.Node {
	n := v1alpha1.Node{ID: key}
	decoded := &decodedNode{value: v, legacy: map[string]string{}}
	if key == "" {
		if id := v.LookupPath(cue.MakePath(cue.Str("id"))); id.Exists() {
			n.ID = d.string(id, path+".id")
			path = graph.NodePath(n.ID, "")
		}
	}
	decoded.id = n.ID
	d.nodes = append(d.nodes, decoded)
	from := d.from(v, path)
	// A node may have either the legacy or the present name of a field.
	has := func(name string) bool { return decoded.value.LookupPath(cue.MakePath(cue.Str(name))).Exists() }
	d.fields(v, path, nodeFields, func(name string, v cue.Value) {
		at := fieldpath.Join(path, name)
		if present, ok := legacyNames[name]; ok {
			if has(present) {
				d.problem(v, at, problem.RuleGraph, "", "given beside %s", present)
				return
			}
			decoded.legacy[present] = name
			name = present
		}
		switch name {
		case "id":
			if id := d.string(v, at); key != "" && id != key && id != "" {
				d.problem(v, at, problem.RuleGraph, "", "%q differs from the node's key %q", id, key)
			}
		case "resource":
			d.resource(v, at, from, decoded, &n)
		case "action":
			for _, other := range []string{"resource", "object", "externalRef"} {
				if has(other) {
					d.problem(v, at, problem.RuleGraph, "", "given beside %s", other)
					return
				}
			}
			d.action(v, at, from, decoded, &n)
		case "externalRef":
			n.ExternalRef = &v1alpha1.ObjectRef{}
			d.decodeInto(v, at, externalRefFields, n.ExternalRef)
		case "dependencies":
			n.Dependencies = d.strings(v, at)
		case "readyWhen":
			d.list(v, at, func(at string, v cue.Value) {
				var c v1alpha1.ReadyCheck
				d.decodeInto(v, at, readyCheckFields, &c)
				n.ReadyWhen = append(n.ReadyWhen, c)
			})
		case "applyPolicy":
			p := &v1alpha1.ApplyPolicy{}
			d.decodeInto(v, at, applyPolicyFields, p)
			n.ApplyPolicy = p.Normalize()
		}
	})
	return n
}

// resource reads the resource of a node and adds the late references of its from.
// A place that the resource does not have is filled in, with maps on the way to
// it. If something other than a map is on the way, that is a problem.
func (d *decoder) resource(v cue.Value, path string, from *fromFields, decoded *decodedNode, n *v1alpha1.Node) {
	before := len(d.problems)
	object := d.filled(v, path, from)
	if len(d.problems) == before {
		d.setResource(v, path, object, decoded, n)
	}
}

// filled reads a struct and adds the late references of from.
func (d *decoder) filled(v cue.Value, path string, from *fromFields) map[string]any {
	before := len(d.problems)
	object, ok := d.value(v, path, from).(map[string]any)
	if len(d.problems) > before {
		return nil
	}
	if !ok {
		d.problem(v, path, problem.RuleGraph, "", "must be a struct, not %s", kindName(v))
		return nil
	}
	for _, at := range from.fill(path, object) {
		d.problem(v, at, problem.RuleGraph, "", "from: the resource has no such place")
	}
	return object
}

// setResource sets the resource of a node.
func (d *decoder) setResource(v cue.Value, path string, object map[string]any, decoded *decodedNode, n *v1alpha1.Node) {
	raw, err := rawJSON(object)
	if err != nil {
		d.problem(v, path, problem.RuleGraph, "", "%v", err)
		return
	}
	decoded.object, n.Resource = object, raw
}

// from reads a node's `from`: paths in the resource, and the expressions whose
// values belong there. It returns nil if the node has none. For example, this
// from
//
//	from: "spec.roleARN": "role.status.arn"
//
// puts the reference {"$from": "role.status.arn"} at spec.roleARN of the
// resource.
func (d *decoder) from(v cue.Value, path string) *fromFields {
	value := v.LookupPath(cue.MakePath(cue.Str("from")))
	if !value.Exists() {
		return nil
	}
	resource := "resource"
	for _, other := range []string{"object", "action"} {
		if !v.LookupPath(cue.MakePath(cue.Str(resource))).Exists() && v.LookupPath(cue.MakePath(cue.Str(other))).Exists() {
			resource = other
		}
	}
	from := &fromFields{exprs: map[string]string{}, used: map[string]bool{}}
	d.fields(value, fieldpath.Join(path, "from"), nil, func(name string, v cue.Value) {
		at := fieldpath.Join(fieldpath.Join(path, "from"), name)
		p := cue.ParsePath(name)
		if p.Err() != nil || name == "" {
			d.problem(v, at, problem.RuleGraph, `write a path such as spec.roleARN or metadata.annotations."a.b/c"`, "%q is not a path", name)
			return
		}
		full := from.add(fieldpath.Join(path, resource), p, d.string(v, at))
		if d.unknown != nil {
			d.unknown.addReference(full, at)
		}
	})
	return from
}
