package reference

import (
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Expression is a CEL expression that passed its checks. It keeps the checked
// syntax tree, from which a program is planned without compiling anew.
type Expression struct {
	source   string
	nodes    []string
	checked  *cel.Ast
	env      *cel.Env
	variable string
}

// String returns the expression as its author wrote it.
func (e *Expression) String() string { return e.source }

// Nodes returns the ids of the nodes that the expression reads, each once, in
// the order of their first appearance.
func (e *Expression) Nodes() []string { return e.nodes }

// Checked returns the type-checked tree. Its only variables are nodes, a map of
// live objects by id, in a late reference, and object in a readiness expression.
func (e *Expression) Checked() *cel.Ast { return e.checked }

// Scope is what late references may read: the nodes of one graph.
type Scope struct {
	ids   []string
	known map[string]bool
	// bare holds the ids that can't stand alone in an expression; that nodes
	// can't is no use as a hint, where it stands it mostly means the map.
	bare []string
}

// NewScope returns the scope of a graph with these node ids.
func NewScope(ids []string) *Scope {
	s := &Scope{ids: ids, known: make(map[string]bool, len(ids))}
	for _, id := range ids {
		s.known[id] = true
		if !Bare(id) && id != "" && id != nodesVariable {
			s.bare = append(s.bare, id)
		}
	}
	return s
}

// Compile checks a late reference: its syntax, its types, and that every node
// it reads is there. Everything wrong is reported at once, save that after a
// syntax error nothing else can be known.
func (s *Scope) Compile(expr string) (*Expression, problem.List) {
	env, err := referenceEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return nil, s.syntaxIssue(expr, issues)
	}
	r := newResolver(env, s, parsed.NativeRep())
	r.resolve()
	checked, issues := env.Check(parsed)
	found := r.issues
	if issues.Err() != nil {
		found = append(found, s.checkIssues(expr, issues, parsed.NativeRep())...)
	}
	if len(found) > 0 {
		return nil, unique(found)
	}
	return &Expression{source: expr, nodes: r.nodes, checked: checked, env: env, variable: nodesVariable}, nil
}

// CompileReady checks a readiness expression over the live object, which must
// yield a boolean.
func CompileReady(expr string) (*Expression, problem.List) {
	env, err := readinessEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return nil, problem.List{firstSyntaxIssue(expr, issues)}
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, unique(readyIssues(expr, issues, parsed.NativeRep()))
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, problem.List{{Message: "yields " + article(cel.FormatCELType(t)) + ", not true or false"}}
	}
	return &Expression{source: expr, checked: checked, env: env, variable: objectVariable}, nil
}

// unknownNode is the issue of an id that no node has.
func (s *Scope) unknownNode(id string) problem.Problem {
	return problem.Problem{Message: "no node " + quote(id), Hint: source.Hint(id, s.ids)}
}

func unique(issues problem.List) problem.List {
	var kept problem.List
	for _, issue := range issues {
		if !slices.Contains(kept, issue) {
			kept = append(kept, issue)
		}
	}
	return kept
}
