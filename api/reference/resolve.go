package reference

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/pequod-io/pequod/internal/problem"
)

// resolver walks a parsed expression, collects the nodes that it reads, and rewrites
// identifiers of nodes in place, from service to nodes.service. Variables of
// comprehensions and namespaces of functions, as in math.greatest, are not nodes. All
// other identifiers are left to the type checker, because they may be names of types.
type resolver struct {
	// env tells namespaces of functions from fields of nodes.
	env *cel.Env
	// scope has the ids that exist.
	scope *NodeSet
	// tree is changed in place. The caller parsed it for this resolver alone.
	tree *ast.AST
	// nextID is the last id of an expression in the tree; new expressions need
	// their own ids.
	nextID int64
	// bound counts the enclosing comprehensions that bind a name. A count is
	// needed because nested comprehensions may use the same name.
	bound map[string]int
	// nodes are the ids that were read, each once, in order.
	nodes []string
	// issues are unknown ids and uses of nodes without a literal id.
	issues problem.List
}

// newResolver returns a resolver of one parsed expression.
func newResolver(env *cel.Env, scope *NodeSet, tree *ast.AST) *resolver {
	return &resolver{
		env: env, scope: scope, tree: tree,
		nextID: ast.MaxID(tree) + 1,
		bound:  map[string]int{},
	}
}

// resolve visits the whole tree. Its results are in r.nodes and r.issues.
func (r *resolver) resolve() { r.expr(r.tree.Expr()) }

// expr visits an expression.
func (r *resolver) expr(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		r.ident(e)
	case ast.SelectKind:
		s := e.AsSelect()
		if r.isNodes(s.Operand()) {
			r.read(s.FieldName())
			return
		}
		r.expr(s.Operand())
	case ast.CallKind:
		r.call(e.AsCall())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.expr(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.expr(entry.AsMapEntry().Key())
			r.expr(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.expr(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		r.comprehension(e.AsComprehension())
	}
}

// ident visits an identifier that is not part of a selection from nodes. A bare
// variable of a comprehension hides a node of the same id, as in
// items.all(service, service.ready).
func (r *resolver) ident(e ast.Expr) {
	name := strings.TrimPrefix(e.AsIdent(), ".")
	switch {
	case r.bound[name] > 0:
	case name == nodesVariable:
		r.needID()
	case r.scope.known[name] && Bare(name):
		r.read(name)
		r.rewrite(e, name)
	}
}

// rewrite replaces the identifier e with a selection from the map of nodes. The new
// expression gets the source position of e, so that messages point to it. It is a
// selection and not an index because an index is a generic function: the type
// checker copies its table of type variables for every call, so an expression of a
// thousand indexes takes seconds to check.
func (r *resolver) rewrite(e ast.Expr, id string) {
	factory := ast.NewExprFactory()
	position, _ := r.tree.SourceInfo().GetOffsetRange(e.ID())
	r.nextID++
	r.tree.SourceInfo().SetOffsetRange(r.nextID, position)
	e.SetKindCase(factory.NewSelect(e.ID(), factory.NewIdent(r.nextID, nodesVariable), id))
}

// call visits a function call or operator. An index of nodes is a read of one
// node; the target of a function with a namespace, as ip in
// ip.isCanonical(address), is a part of its name and not visited.
func (r *resolver) call(c ast.CallExpr) {
	args := c.Args()
	switch c.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if len(args) == 2 && r.isNodes(args[0]) {
			r.index(args[1])
			return
		}
	}
	if c.IsMemberFunction() && !r.isNamespace(c) {
		r.expr(c.Target())
	}
	for _, arg := range args {
		r.expr(arg)
	}
}

// index visits the key of an index of nodes. The key must be a literal, so that the
// nodes that the expression reads are known before it runs.
func (r *resolver) index(key ast.Expr) {
	if key.Kind() == ast.LiteralKind {
		if id, ok := key.AsLiteral().(types.String); ok {
			r.read(string(id))
			return
		}
	}
	r.needID()
	if key.Kind() == ast.LiteralKind {
		// The type checker must not report the key a second time.
		key.SetKindCase(ast.NewExprFactory().NewLiteral(key.ID(), types.String("")))
		return
	}
	r.expr(key)
}

// comprehension visits a comprehension. Each variable is bound only in the parts
// in which CEL defines it. The range and the initial value are outside of its
// scope, the condition and the step see all its variables, and the result sees
// only the accumulator.
func (r *resolver) comprehension(c ast.ComprehensionExpr) {
	r.expr(c.IterRange())
	r.expr(c.AccuInit())
	names := []string{c.AccuVar(), c.IterVar(), c.IterVar2()}
	for _, name := range names {
		r.bound[name]++
	}
	r.expr(c.LoopCondition())
	r.expr(c.LoopStep())
	r.bound[c.IterVar()]--
	r.bound[c.IterVar2()]--
	r.expr(c.Result())
	r.bound[c.AccuVar()]--
}

// isNodes reports whether e is the map of all nodes.
func (r *resolver) isNodes(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == nodesVariable && r.bound[nodesVariable] == 0
}

// isNamespace reports whether the target of a call is a part of the function's name,
// as math in math.greatest.
func (r *resolver) isNamespace(c ast.CallExpr) bool {
	var names []string
	for e := c.Target(); ; e = e.AsSelect().Operand() {
		if e.Kind() == ast.IdentKind {
			names = append(names, e.AsIdent())
			break
		}
		if e.Kind() != ast.SelectKind {
			return false
		}
		names = append(names, e.AsSelect().FieldName())
	}
	full := c.FunctionName()
	for _, name := range names {
		full = name + "." + full
	}
	return r.env.HasFunction(strings.TrimPrefix(full, "."))
}

// read records that the expression reads a node. An unknown id becomes a problem
// instead.
func (r *resolver) read(id string) {
	if !r.scope.known[id] {
		r.issues = append(r.issues, r.scope.unknownNode(id))
		return
	}
	if !slices.Contains(r.nodes, id) {
		r.nodes = append(r.nodes, id)
	}
}

// needID reports a use of nodes without a literal id.
func (r *resolver) needID() {
	r.issues = append(r.issues, problem.Problem{
		Message: "nodes must be followed by the id of a node, written out",
		Hint:    `as in nodes["worker-high"]: what an expression reads must be known before it runs`,
	})
}
