package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// plan is the graph that the simulation edits. Nodes depend only on earlier nodes.
type plan struct {
	nodes []planned
	adopt []string // names of objects that may be adopted
}

// planned is a node. The name of its object identifies it; its id may change.
type planned struct {
	id, name              string
	needs                 []string          // names
	reads                 string            // the name of a Thing whose address it references
	fields                map[string]string // of data or spec
	orphan, create, force bool
	recreate, adopt       bool
	timeout, version      string
}

// keyOf returns the key of an object by its name: Things are namespaced, and Worlds
// are cluster-scoped.
func keyOf(name string) inventory.Key {
	switch name[0] {
	case 't':
		return inventory.Key{Group: "example.com", Kind: "Thing", Namespace: "default", Name: name}
	case 'j':
		return inventory.Key{Group: "batch", Kind: "Job", Namespace: "default", Name: name}
	case 'w':
		return inventory.Key{Group: "example.com", Kind: "World", Name: name}
	}
	return inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: name}
}

func (p plan) String() string {
	var nodes []string
	for _, n := range p.nodes {
		text := n.id + "=" + n.name
		if all := n.allNeeds(); len(all) > 0 {
			text += "<" + strings.Join(all, ",")
		}
		if n.orphan {
			text += "(orphan)"
		}
		if n.create {
			text += "(create)"
		}
		if n.version != "" {
			text += "(" + n.version + ")"
		}
		if n.fields["behave"] != "" {
			text += "(" + n.fields["behave"] + ")"
		}
		nodes = append(nodes, text)
	}
	return strings.Join(nodes, " ") + " adopt " + strings.Join(p.adopt, ",")
}

func (p plan) clone() plan {
	p.nodes, p.adopt = slices.Clone(p.nodes), slices.Clone(p.adopt)
	for i := range p.nodes {
		p.nodes[i].needs, p.nodes[i].fields = slices.Clone(p.nodes[i].needs), maps.Clone(p.nodes[i].fields)
	}
	return p
}

func (p plan) index(name string) int {
	return slices.IndexFunc(p.nodes, func(n planned) bool { return n.name == name })
}

// without removes a node and the dependencies on it.
func (p plan) without(name string) plan {
	p = p.clone()
	p.nodes = slices.DeleteFunc(p.nodes, func(n planned) bool { return n.name == name })
	for i := range p.nodes {
		n := &p.nodes[i]
		n.needs = slices.DeleteFunc(n.needs, func(need string) bool { return need == name })
		if n.reads == name {
			n.reads = ""
		}
	}
	return p
}

func (n planned) allNeeds() []string {
	all := slices.Clone(n.needs)
	if n.reads != "" && !slices.Contains(all, n.reads) {
		all = append(all, n.reads)
	}
	return all
}

// build returns the graph as a ResourceGraph.
func (p plan) build(owner inventory.Owner) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name = owner.Namespace, owner.Name
	ids := map[string]string{}
	for _, n := range p.nodes {
		ids[n.name] = n.id
	}
	for _, n := range p.nodes {
		node := v1alpha1.Node{ID: n.id, Resource: &runtime.RawExtension{Raw: n.resource(ids)}}
		for _, need := range n.needs {
			node.Dependencies = append(node.Dependencies, ids[need])
		}
		if strings.HasPrefix(n.name, "t") {
			node.ReadyWhen = []v1alpha1.ReadyCheck{{Type: v1alpha1.ReadyConditionMatch, ConditionType: "Ready"}}
		}
		if strings.HasPrefix(n.name, "j") {
			node.ReadyWhen = []v1alpha1.ReadyCheck{{Type: v1alpha1.ReadyJobComplete}}
		}
		policy := v1alpha1.ApplyPolicy{Timeout: n.timeout}
		if n.orphan {
			policy.DeletionPolicy = v1alpha1.DeletionOrphan
		}
		switch {
		case n.create:
			policy.Mode = v1alpha1.ApplyModeCreate
		case n.adopt:
			policy.Mode = v1alpha1.ApplyModeAdopt
		}
		if n.force {
			policy.ConflictPolicy = v1alpha1.ConflictForce
		}
		if n.recreate {
			policy.Recreate = v1alpha1.RecreateOnImmutable
		}
		node.ApplyPolicy = &policy
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, node)
	}
	if len(p.adopt) > 0 {
		rg.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit}
		for _, name := range p.adopt {
			key := keyOf(name)
			ref := v1alpha1.ObjectRef{APIVersion: "v1", Kind: key.Kind, Name: name}
			if key.Group != "" {
				ref.APIVersion = key.Group + "/v1"
			}
			rg.Spec.Adopt.Resources = append(rg.Spec.Adopt.Resources, ref)
		}
	}
	hash, err := graph.RenderHash(rg.Spec.Graph)
	if err != nil {
		panic(err)
	}
	rg.Spec.RenderHash = hash
	return rg
}

func (n planned) resource(ids map[string]string) []byte {
	body := map[string]any{}
	for f, v := range n.fields {
		body[f] = v
	}
	if n.reads != "" {
		body["address"] = map[string]any{"$from": ids[n.reads] + ".status.address"}
	}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": n.name}, "data": body}
	if key := keyOf(n.name); key.Group != "" {
		object = map[string]any{"apiVersion": key.Group + "/" + n.apiVersion(), "kind": key.Kind, "metadata": map[string]any{"name": n.name}, "spec": body}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return raw
}

// holds reports whether an object has exactly the desired fields of the node.
func (n planned) holds(c *cluster, o *object) error {
	want := maps.Clone(n.fields)
	if n.reads != "" {
		if read := c.objects[keyOf(n.reads)]; read != nil {
			want["address"] = "at-" + string(read.uid)
		}
	}
	for f, v := range want {
		if o.fields["spec:"+f] != v {
			return fmt.Errorf("%s has %s=%q, wanted %q", n.name, f, o.fields["spec:"+f], v)
		}
	}
	for f := range o.managers["pequod"] {
		if name, ok := strings.CutPrefix(f, "spec:"); ok {
			if _, wanted := want[name]; wanted || name == "address" && n.reads == "" {
				continue
			}
			return fmt.Errorf("%s still has %s", n.name, name)
		}
	}
	return nil
}
