package graph

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source"
)

// An id must be a non-empty label value, because it identifies the node in
// selectors, messages and metrics as well as in expressions.
const (
	maxID  = 63
	idHint = "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, at most 63 characters"
)

// ids matches an id of any length.
var ids = lazyregexp.New(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// Check reads and validates a graph.
func Check(rg *v1alpha1.ResourceGraph) []Problem { return Read(rg).Problems() }

// Problems validates the graph and returns all problems: first those of the nodes
// in their order, then those of the graph's policies, cycles, outputs and
// violations. A graph without problems can be applied.
func (g *Graph) Problems() []Problem {
	if len(g.budget) > 0 {
		return g.budget // the expressions weren't compiled, so the rest can't be judged
	}
	var problems []Problem
	add := func(node, path, message, hint string) {
		problems = append(problems, NewProblem(node, path, message, hint))
	}
	// objects maps each object to its first node; checkObject fills it.
	objects := make(map[v1alpha1.ObjectRef]string, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		first := g.index[n.ID]
		switch {
		case n.ID == "":
			add("", fmt.Sprintf("nodes[%d]", i), "has no id", "")
		case len(n.ID) > maxID || !ids().MatchString(n.ID):
			add(n.ID, "id", fmt.Sprintf("%q is not an id", n.ID), idHint)
		case first != i:
			add(n.ID, "id", fmt.Sprintf("nodes[%d] and nodes[%d] have the same id", first, i), "")
		}
		n.checkHasObject(add)
		problems = append(problems, n.problems...)
		g.checkNames(n, add)
		g.checkSelf(n, add)
		g.checkSecrets(n, add)
		g.checkVolatile(n, add)
		g.checkDependencies(n, add)
		n.checkReadyWhen(add, func(p Problem) { problems = append(problems, p) })
		n.checkApplyPolicy(add)
		g.checkObject(n, objects, add)
	}
	g.checkPolicies(add)
	problems = append(problems, g.cycleProblems()...)
	problems = append(problems, g.outputs...)
	problems = append(problems, g.outputSecrets()...)
	problems = append(problems, g.outputVolatile()...)
	for i, v := range g.source.Spec.Graph.Violations {
		checkOneOf(add, "", fmt.Sprintf("violations[%d].severity", i), "severity", v.Severity,
			v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo)
	}
	return problems
}

// addFunc records a problem. Its arguments are those of [NewProblem].
type addFunc func(node, path, message, hint string)

// checkHasObject checks that exactly one of resource and externalRef is set. A
// resource that is not JSON counts as set; readNode has reported it.
func (n *Node) checkHasObject(add addFunc) {
	raw, err := rawJSON(n.Resource)
	switch hasResource := raw != nil || err != nil; {
	case hasResource && n.ExternalRef != nil:
		add(n.ID, "", "has both resource and externalRef", "a node is one object")
	case !hasResource && n.ExternalRef == nil:
		add(n.ID, "", "has neither resource nor externalRef", "")
	}
}

// checkSelf reports late references of a node to itself. They could never be
// resolved, because the node is ready only after it was applied.
func (g *Graph) checkSelf(n *Node, add addFunc) {
	for _, late := range n.References {
		if slices.Contains(late.Nodes(), n.ID) {
			add(n.ID, append(reference.Path{"resource"}, late.Path...).String(), "reads the node itself",
				"a late reference reads other nodes")
		}
	}
}

// checkVolatile reports late references to metadata that changes with every write
// of an object. Two graphs that read each other's would write without end.
func (g *Graph) checkVolatile(n *Node, add addFunc) {
	for _, late := range n.References {
		if field := volatileRead(late); field != "" {
			add(n.ID, append(reference.Path{"resource"}, late.Path...).String(), "reads "+field, volatileHint)
		}
	}
}

// volatileHint is the hint of references that [reference.Volatile] fields refuse.
const volatileHint = "it changes with every write of the object; read metadata.generation or a field of the spec or status"

// volatileRead returns the volatile field that an expression reads, or "". It only
// finds reads that the expression spells out; evaluation hides the fields from all
// others.
func volatileRead(late Late) string {
	for _, path := range late.Selects() {
		if len(path) < 3 || path[1] != "metadata" {
			continue
		}
		if field, _ := path[2].(string); slices.Contains(reference.Volatile(), field) {
			return path[:3].String()
		}
	}
	return ""
}

// outputVolatile reports outputs that read volatile metadata: each write of the
// status would be a change for graphs that read this one.
func (g *Graph) outputVolatile() []Problem {
	var problems []Problem
	for _, late := range g.Outputs {
		if field := volatileRead(late); field != "" {
			problems = append(problems, NewProblem("", append(reference.Path{"outputs"}, late.Path...).String(), "reads "+field, volatileHint))
		}
	}
	return problems
}

// checkDependencies checks that the declared dependencies are other nodes of the
// graph.
func (g *Graph) checkDependencies(n *Node, add addFunc) {
	for k, id := range n.Dependencies {
		path := fmt.Sprintf("dependencies[%d]", k)
		_, ok := g.index[id]
		switch {
		case id == n.ID:
			add(n.ID, path, "depends on itself", "")
		case !ok || id == "":
			add(n.ID, path, fmt.Sprintf("no node %q", id), source.Hint(id, g.ids))
		}
	}
}

// checkReadyWhen checks the types of the readiness checks and the fields that
// each type requires. Expressions were compiled by readNode. A condition's status
// is optional. The types are those of v1alpha1.ReadyTypes.
func (n *Node) checkReadyWhen(add addFunc, report func(Problem)) {
	for k, check := range n.ReadyWhen {
		path := fmt.Sprintf("readyWhen[%d].", k)
		switch check.Type {
		case v1alpha1.ReadyConditionMatch:
			if check.ConditionType == "" {
				add(n.ID, path+"conditionType", "is missing", "ConditionMatch compares the status of a condition of this type")
			}
			checkOneOf(add, n.ID, path+"conditionStatus", "status", check.ConditionStatus, "True", "False", "Unknown")
		case v1alpha1.ReadyExpression:
			if check.Expr == "" {
				add(n.ID, path+"expr", "is missing", "as in object.status.phase == 'Running'")
			}
			for _, issue := range n.ready[k] {
				report(issueProblem(n.ID, path+"expr", issue))
			}
		case "":
			add(n.ID, path+"type", "is missing", oneOf(v1alpha1.ReadyTypes))
		default:
			checkOneOf(add, n.ID, path+"type", "type", check.Type, v1alpha1.ReadyTypes...)
		}
	}
}

// checkApplyPolicy checks the enumerations and the timeout of the apply policy.
// Empty fields have defaults and are valid.
func (n *Node) checkApplyPolicy(add addFunc) {
	p := n.ApplyPolicy
	if p == nil {
		return
	}
	checkOneOf(add, n.ID, "applyPolicy.mode", "mode", p.Mode,
		v1alpha1.ApplyModeApply, v1alpha1.ApplyModeCreate, v1alpha1.ApplyModeAdopt)
	checkOneOf(add, n.ID, "applyPolicy.conflictPolicy", "policy", p.ConflictPolicy, v1alpha1.ConflictError, v1alpha1.ConflictForce)
	checkOneOf(add, n.ID, "applyPolicy.recreate", "policy", p.Recreate, v1alpha1.RecreateNever, v1alpha1.RecreateOnImmutable)
	checkOneOf(add, n.ID, "applyPolicy.deletionPolicy", "policy", p.DeletionPolicy, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
	if p.Timeout == "" {
		return
	}
	// Zero would time out at once, and a negative timeout has no meaning.
	if d, err := time.ParseDuration(p.Timeout); err != nil || d <= 0 {
		add(n.ID, "applyPolicy.timeout", fmt.Sprintf("%q is not a duration", p.Timeout), "such as 90s or 5m")
	}
}

// checkObject reports nodes that refer to the same object as an earlier node. seen
// maps each object to the id of its first node. API versions are ignored, because
// they are views of one object. If the scope of a kind is unknown, an object without
// a namespace is taken to be in the graph's namespace.
func (g *Graph) checkObject(n *Node, seen map[v1alpha1.ObjectRef]string, add addFunc) {
	if n.Object.Kind == "" || n.Object.Name == "" {
		return
	}
	key := n.Object
	// The key has the group in place of the apiVersion.
	key.APIVersion = n.GroupKind().Group
	if key.Namespace == "" {
		key.Namespace = g.source.Namespace
	}
	first, taken := seen[key]
	if !taken {
		seen[key] = n.ID
		return
	}
	field := "resource"
	if n.ExternalRef != nil {
		field = "externalRef"
	}
	add(n.ID, field, fmt.Sprintf("%s is also node %s", objectText(n), first), "two nodes for one object")
}

// objectText formats the node's object as KIND.GROUP NAMESPACE/NAME, such as
// Deployment.apps default/web.
func objectText(n *Node) string {
	name := n.Object.Name
	if n.Object.Namespace != "" {
		name = n.Object.Namespace + "/" + name
	}
	return n.GroupKind().String() + " " + name
}

// checkOneOf reports a value that is set and not among the allowed ones. noun
// is the word for the value in the message.
func checkOneOf[T ~string](add addFunc, node, path, noun string, got T, allowed ...T) {
	if got != "" && !slices.Contains(allowed, got) {
		add(node, path, fmt.Sprintf("unknown %s %q", noun, got), oneOf(allowed))
	}
}

// oneOf lists the allowed values for a hint.
func oneOf[T ~string](allowed []T) string {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return "one of " + strings.Join(names, ", ")
}

// cycleProblems returns one problem for each cycle, at the first edge of its first
// node. The hint explains the edges that are not declared dependencies, because the
// author cannot see those in the file.
func (g *Graph) cycleProblems() []Problem {
	if _, rest := g.layers(); rest == 0 {
		return nil
	}
	var problems []Problem
	for _, cycle := range g.cycles() {
		var why []string
		for i := range len(cycle) - 1 {
			if text := g.explain(cycle[i], cycle[i+1]); text != "" {
				why = append(why, text)
			}
		}
		problems = append(problems, NewProblem(g.ids[cycle[0]], g.edge(cycle[0], cycle[1]).Path,
			cycleText(g.names(cycle)), strings.Join(why, "; ")))
	}
	return problems
}

// explain returns the cause of the edge between two nodes, or "" if it is a
// declared dependency. A custom resource is defined by its definition's node, and
// a namespaced object lies in the Namespace of another node.
func (g *Graph) explain(node, needs int) string {
	switch e := g.edge(node, needs); {
	case e.Kind == Reference:
		return fmt.Sprintf("%s reads %s at %s", e.Node, e.Needs, e.Path)
	case e.Kind == Implied && isCRD(g.Nodes[needs].GroupKind()):
		return fmt.Sprintf("%s is defined by %s", e.Node, e.Needs)
	case e.Kind == Implied:
		return fmt.Sprintf("%s lies in the Namespace of %s", e.Node, e.Needs)
	}
	return ""
}
