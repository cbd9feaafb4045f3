package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Names that a node may have; object and dependsOn are those of modules that
// were written for the original operator.
var (
	nodeFields = []string{"id", "resource", "externalRef", "dependencies", "readyWhen", "applyPolicy", "from", "object", "dependsOn"}
	readyNames = []string{"type", "conditionType", "conditionStatus", "expr"}
	refNames   = []string{"apiVersion", "kind", "name", "namespace"}
	applyNames = []string{"mode", "conflictPolicy", "fieldManager", "ignoreFields", "recreate", "deletionPolicy", "timeout"}
)

var newNames = map[string]string{"object": "resource", "dependsOn": "dependencies"}

// node reads one node. The key is its id in a map of nodes, "" in a list.
func (d *decoder) node(v cue.Value, path, key string) v1alpha1.Node {
	n := v1alpha1.Node{ID: key}
	dn := &decodedNode{value: v, names: map[string]string{}}
	if key == "" {
		if id := v.LookupPath(cue.MakePath(cue.Str("id"))); id.Exists() {
			n.ID = d.text(id, path+".id")
			path = graph.NodePath(n.ID, "")
		}
	}
	dn.id = n.ID
	d.nodes = append(d.nodes, dn)
	late := d.late(v, path)
	has := func(name string) bool { return dn.value.LookupPath(cue.MakePath(cue.Str(name))).Exists() }
	d.fields(v, path, nodeFields, func(name string, v cue.Value) {
		at := fieldpath.Join(path, name)
		if now, old := newNames[name]; old {
			if has(now) {
				d.problem(v, at, problem.RuleGraph, "", "given beside %s", now)
				return
			}
			dn.names[now] = name
			name = now
		}
		switch name {
		case "id":
			if id := d.text(v, at); key != "" && id != key && id != "" {
				d.problem(v, at, problem.RuleGraph, "", "%q differs from the node's key %q", id, key)
			}
		case "resource":
			d.resource(v, at, late, dn, &n)
		case "externalRef":
			n.ExternalRef = &v1alpha1.ObjectRef{}
			d.decodeInto(v, at, refNames, n.ExternalRef)
		case "dependencies":
			n.Dependencies = d.texts(v, at)
		case "readyWhen":
			d.list(v, at, func(at string, v cue.Value) {
				var c v1alpha1.ReadyCheck
				d.decodeInto(v, at, readyNames, &c)
				n.ReadyWhen = append(n.ReadyWhen, c)
			})
		case "applyPolicy":
			p := &v1alpha1.ApplyPolicy{}
			d.decodeInto(v, at, applyNames, p)
			n.ApplyPolicy = p.Normalize()
		}
	})
	return n
}

func (d *decoder) resource(v cue.Value, path string, late *lateFields, dn *decodedNode, n *v1alpha1.Node) {
	failed := len(d.problems)
	object, ok := d.any(v, path, late).(map[string]any)
	if len(d.problems) > failed {
		return
	}
	if !ok {
		d.problem(v, path, problem.RuleGraph, "", "must be a struct, not %s", kindName(v))
		return
	}
	late.fill(d, v, path, object)
	r, err := raw(object)
	if err != nil {
		d.problem(v, path, problem.RuleGraph, "", "%v", err)
		return
	}
	dn.object, n.Resource = object, r
}

// place gives the author's line of a place in a node: the innermost part of the
// path that the module spells out.
func (d *decoder) place(id, path string) problem.Position {
	v := d.output
	var names map[string]string
	for _, n := range d.nodes {
		if n.id == id && id != "" {
			v, names = n.value, n.names
		}
	}
	at := cuesyntax.ValuePosition(v)
	for i, s := range fieldpath.Split(path) {
		if old, ok := names[s]; ok && i == 0 {
			s = old
		}
		next := v.LookupPath(cue.MakePath(cue.Str(s)))
		if n, err := strconv.Atoi(s); err == nil && v.IncompleteKind() == cue.ListKind {
			next = v.LookupPath(cue.MakePath(cue.Index(n)))
		}
		if !next.Exists() {
			break
		}
		v = next
		if p := cuesyntax.ValuePosition(v); p.File != "" {
			at = p
		}
	}
	return at
}

func newRaws() map[string]runtime.RawExtension { return map[string]runtime.RawExtension{} }

// jsonMessage says in the words of this package what encoding/json found.
func jsonMessage(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("%s: must be %s, not %s", t.Field, t.Type, t.Value)
	}
	return err.Error()
}
