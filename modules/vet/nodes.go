package vet

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/render/kinds"
)

// nodes checks the nodes of an evaluated graph, which may be a list or a map.
func (c *checker) nodes(g renderedGraph) {
	nodes := get(g.value, "output", "nodes")
	if nodes.IncompleteKind() == cue.ListKind {
		for i, n := range elements(nodes) {
			id, ok := text(get(n, "id"))
			if !ok {
				id = strconv.Itoa(i)
			}
			c.node(id, n, g.refused())
		}
		return
	}
	for name, n := range fields(nodes) {
		c.node(name, n, g.refused())
	}
}

// node checks one node: its dependencies, its object, and its readiness checks. A
// node with an external reference has no object of its own, so its kind is looked
// up instead. An object is not checked if its apiVersion or kind is unknown in
// this sample. Readiness checks are skipped if the sample is refused, because
// they may depend on values that the violations exclude.
func (c *checker) node(id string, v cue.Value, refused bool) {
	n := &node{checker: c, path: reference.Path{"nodes", id}}
	c.dependencies(n, first(v, "dependencies", "dependsOn"))
	s := kinds.Subject{}
	if ref := get(v, "externalRef"); ref.Exists() {
		s.APIVersion, _ = text(get(ref, "apiVersion"))
		s.Kind, _ = text(get(ref, "kind"))
		if s.APIVersion == "" || s.Kind == "" {
			return
		}
		if _, p := c.catalog.Lookup(s.APIVersion, s.Kind); p != nil {
			n.problem(ref, reference.Path{"externalRef"}, *p)
		}
		if !refused {
			c.ready(n, s, v, cue.Value{})
		}
		return
	}
	if action := get(v, "action"); action.Exists() {
		c.action(n, v, action, refused)
		return
	}
	resource := first(v, "resource", "object")
	s.APIVersion, _ = text(get(resource, "apiVersion"))
	s.Kind, _ = text(get(resource, "kind"))
	if s.APIVersion == "" || s.Kind == "" {
		return
	}
	t, p := c.catalog.Lookup(s.APIVersion, s.Kind)
	if p != nil {
		n.problem(get(resource, p.Path), reference.Path{"resource"}, *p)
	} else {
		n.value(resource, t, reference.Path{"resource"}, 0)
	}
	if !refused {
		c.ready(n, s, v, resource)
	}
}

// action checks the `action` of a node, which has the fields of the spec of an Action, and
// metadata.
func (c *checker) action(n *node, v, action cue.Value, refused bool) {
	s := kinds.Subject{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Action"}
	t, p := c.catalog.Lookup(s.APIVersion, s.Kind)
	if p != nil {
		n.problem(action, reference.Path{"action"}, *p)
		return
	}
	spec := t.Field("spec")
	for name, f := range fields(action) {
		ft := spec.Field(name)
		if name == "metadata" {
			ft = t.Field(name)
		}
		if ft == nil {
			n.problem(f, reference.Path{"action"}, kinds.Unknown(name, spec))
			continue
		}
		n.value(f, ft, reference.Path{"action", name}, 1)
	}
	if !refused {
		c.ready(n, s, v, cue.Value{})
	}
}

// node is the node that is being checked, with its path.
type node struct {
	*checker
	path reference.Path
}

// problem reports a problem of the node at the position of v. base is the path of
// the checked value in the node.
func (n *node) problem(v cue.Value, base reference.Path, p problem.Problem) {
	p.Position, p.Rule = cuesyntax.ValuePosition(v), problem.RuleSchema
	p.Path = fieldpath.Concat(slices.Concat(n.path, base).String(), p.Path)
	n.report(p)
}

// maxDepth limits recursion, because schemas and values may be infinite.
const maxDepth = 100

// value checks the known part of a value against its type: first its JSON type,
// then its fields or elements, or the value of a scalar. Values that are unknown,
// late or invented are accepted. path is the path of v below the node.
func (n *node) value(v cue.Value, t *kinds.Type, path reference.Path, depth int) {
	is := jsonTypes(v.IncompleteKind())
	if isPartialStruct(v) {
		is = kinds.Map
	}
	switch {
	case is == 0 || depth > maxDepth || n.isLate(v, path):
		return
	case is&t.Accepts() == 0:
		n.problem(v, path, problem.Problem{Message: "must be " + t.Words() + ", not " + kinds.Words(is)})
		return
	case is == kinds.Map:
		for name, f := range fields(v) {
			below := append(slices.Clone(path), name)
			if ft := t.Field(name); ft != nil {
				n.value(f, ft, below, depth+1)
				continue
			}
			n.problem(f, path, kinds.Unknown(name, t))
		}
		n.required(v, t, path)
	case is == kinds.List:
		for i, e := range elements(v) {
			n.value(e, t.Elem(), append(slices.Clone(path), i), depth+1)
		}
	case v.IsConcrete():
		if s, ok := scalar(v).(string); ok && isPlaceholder(s) {
			return
		}
		if message := t.Refuses(scalar(v)); message != "" {
			n.problem(v, path, problem.Problem{Message: message})
		}
	}
}

// required reports required fields that are missing. It only checks closed structs,
// as those in #Render are: in an open struct, the author of an instance can add the
// field.
func (n *node) required(v cue.Value, t *kinds.Type, path reference.Path) {
	if mayHaveMoreFields(v) || v.Allows(cue.AnyString) {
		return
	}
	var given []string
	for name := range fields(v) {
		given = append(given, name)
	}
	for _, name := range t.Missing(given) {
		n.problem(v, path, kinds.Missing(name))
	}
}

// isLate reports whether v is a late reference or a generated value, which the
// applier fills in, and checks the expression of a late reference. The expression
// may name only nodes that the module has. It is not checked if the module may
// render nodes with ids that are not known.
func (n *node) isLate(v cue.Value, path reference.Path) bool {
	if get(v, reference.GenerateKey).Exists() {
		return true
	}
	from := get(v, reference.FromKey)
	if !from.Exists() {
		return false
	}
	expr, ok := text(from)
	if !ok || n.ids.dynamic {
		return true
	}
	_, issues := reference.NewNodeSet(n.ids.sorted()).Compile(expr, nil)
	for _, issue := range issues {
		n.problem(v, path, problem.Problem{Message: issue.Message, Hint: issue.Hint})
	}
	return true
}

// dependencies reports dependencies that no input can satisfy.
func (c *checker) dependencies(n *node, v cue.Value) {
	for i, d := range elements(v) {
		id, ok := text(d)
		if !ok {
			continue
		}
		at := reference.Path{"dependencies", i}
		if !c.ids.has(id) && !c.ids.dynamic {
			n.problem(d, at, problem.Problem{Message: "no node " + strconv.Quote(id), Hint: source.Hint(id, c.ids.sorted())})
		}
		// The node is written in the module, but below guards that never hold.
		if c.ids.isUnreachable(id) {
			n.problem(d, at, problem.Problem{Message: "node " + id + " is never made"})
		}
	}
}

// ready reports readiness checks that can never pass, such as a condition that
// the kind does not set. Checks whose type is not known in this sample are
// skipped. resource does not exist for an external reference.
func (c *checker) ready(n *node, s kinds.Subject, v, resource cue.Value) {
	for i, e := range elements(get(v, "readyWhen")) {
		typ, ok := text(get(e, "type"))
		if !ok {
			continue
		}
		condition, _ := text(get(e, "conditionType"))
		check := v1alpha1.ReadyCheck{Type: v1alpha1.ReadyType(typ), ConditionType: condition}
		subject := s
		if resource.Exists() {
			subject.ServiceType = serviceType(resource)
		}
		// Each check is passed alone, so its path in the result is always
		// readyWhen[0].
		for _, p := range c.catalog.Ready(subject, []v1alpha1.ReadyCheck{check}) {
			field := strings.TrimPrefix(p.Path, "readyWhen[0].")
			p.Path = field
			n.problem(get(e, field), reference.Path{"readyWhen", i}, p)
		}
	}
}

// serviceType returns the type of a Service, "" if it may be LoadBalancer, and a
// description for messages if it is unknown but cannot be LoadBalancer. The
// readiness of a Service depends on this: only a load balancer gets an ingress
// address.
func serviceType(resource cue.Value) string {
	typ := get(resource, "spec", "type")
	if !typ.Exists() {
		if mayHaveMoreFields(resource) || mayHaveMoreFields(get(resource, "spec")) {
			return ""
		}
		return "ClusterIP" // the default of the API server
	}
	if name, ok := text(typ); ok {
		return name
	}
	if typ.IncompleteKind() == cue.BottomKind || typ.Unify(cuecontext.New().Encode("LoadBalancer")).Err() == nil {
		return ""
	}
	return "other than LoadBalancer"
}
