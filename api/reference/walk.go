package reference

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// walker follows the fields that an expression reads through the data, to find
// out where the access failed. It is only used after an error, so it need not be
// fast. For the chain service.status.loadBalancer.ingress[0].ip it looks up one
// key after the other, and stops at the first that does not exist. That key's
// path is the message.
type walker struct {
	program *Program
	of      *evaluation // that failed
	// loops maps the variables of enclosing comprehensions to their ranges.
	loops map[string]ast.Expr
}

// partCost is the cost of compiling a part of an expression.
const partCost = maxCost / 1000

// end is the result of following a chain of selections.
type end struct {
	state state
	// path is the path to the value; for mistaken it is the whole message.
	path string
	// value is the value, if the state is present.
	value any
}

// state is the outcome of one selection of a chain.
type state int

const (
	unknown  state = iota // the chain cannot be followed
	present               // the value exists
	absent                // a field, key or element does not exist
	null                  // a field of a null is read
	mistaken              // a field of a value without fields is read
)

// walker returns a walker for one failed evaluation of p over data.
func (p *Program) walker(of *evaluation) *walker {
	return &walker{program: p, of: of, loops: map[string]ast.Expr{}}
}

// find returns the expression with the given id, or nil, and records the
// comprehensions that enclose it.
func (w *walker) find(id int64) ast.Expr {
	var found ast.Expr
	var visit func(ast.NavigableExpr)
	visit = func(e ast.NavigableExpr) {
		if e.ID() == id && found == nil {
			found = e
			for parent, ok := e.Parent(); ok; parent, ok = parent.Parent() {
				if parent.Kind() == ast.ComprehensionKind {
					c := parent.AsComprehension()
					// The walk goes outwards, so the innermost comprehension
					// comes first. It hides the variables of the same name
					// further out.
					if _, inner := w.loops[c.IterVar()]; !inner {
						w.loops[c.IterVar()] = c.IterRange()
					}
				}
			}
		}
		for _, child := range e.Children() {
			visit(child)
		}
	}
	visit(ast.NavigateAST(w.program.checked.NativeRep()))
	return found
}

// follow returns the ends of the chain of selections e: one end, or one for each
// value of the comprehension variable that the chain starts with.
func (w *walker) follow(e ast.Expr) []end {
	operand, key, ok := selection(e)
	if !ok {
		return w.start(e)
	}
	from := w.follow(operand)
	ends := make([]end, 0, len(from))
	for _, at := range from {
		if at.state != present {
			ends = append(ends, at)
			continue
		}
		k, known := w.key(key)
		if !known {
			ends = append(ends, end{state: unknown})
			continue
		}
		ends = append(ends, at.field(k))
	}
	return ends
}

// selection returns the operand and the key of a field selection or an index. The key
// is a string for a selection and an ast.Expr for an index. ok is false for other
// expressions.
func selection(e ast.Expr) (operand ast.Expr, key any, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if len(c.Args()) == 2 {
				return c.Args()[0], c.Args()[1], true
			}
		}
	}
	return nil, nil, false
}

// key returns the value of a key, and false if it cannot be evaluated.
func (w *walker) key(key any) (any, bool) {
	e, ok := key.(ast.Expr)
	if !ok {
		return key, true
	}
	if e.Kind() == ast.LiteralKind {
		return e.AsLiteral().Value(), true
	}
	if !w.closed(e) {
		return nil, false
	}
	value, err := w.run(e)
	return value, err == nil
}

// start returns the values that a chain of selections starts with.
func (w *walker) start(e ast.Expr) []end {
	if e.Kind() == ast.IdentKind {
		switch name := e.AsIdent(); name {
		case w.program.variable:
			path := name
			if name == nodesVariable {
				path = ""
			}
			return []end{{state: present, path: path, value: w.of.data}}
		default:
			if over, ok := w.loops[name]; ok {
				return w.elements(over)
			}
			if w.program.isVariable(name) {
				return []end{{state: present, path: name, value: w.of.data[name]}}
			}
			return []end{{state: unknown}}
		}
	}
	if !w.closed(e) {
		return []end{{state: unknown}}
	}
	value, err := w.run(e)
	if err != nil {
		return []end{{state: unknown}}
	}
	return []end{{state: present, path: "…", value: value}}
}

// elements returns the values of a comprehension variable with the range e. For a
// map the variable takes the keys, in sorted order. An end that is not present
// has no elements, so the chain has no ends and the caller falls back to a
// general message.
func (w *walker) elements(e ast.Expr) []end {
	var ends []end
	for _, at := range w.follow(e) {
		switch value := at.value.(type) {
		case []any:
			for i, element := range value {
				ends = append(ends, end{state: present, path: at.path + "[" + strconv.Itoa(i) + "]", value: element})
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				ends = append(ends, end{state: present, path: at.path + "'s key " + quote(key), value: key})
			}
		}
	}
	return ends
}

// field returns the end after one more selection. Only a missing key, a missing
// element or a null may appear later. A field of a string never appears, so it is
// mistaken.
func (at end) field(key any) end {
	switch value := at.value.(type) {
	case map[string]any:
		name, ok := key.(string)
		if !ok {
			return end{state: mistaken, path: at.path + " is a map, and has no element " + fmt.Sprint(key)}
		}
		next := end{state: present, path: at.join(name)}
		if next.value, ok = value[name]; !ok {
			next.state = absent
		}
		return next
	case []any:
		i, ok := key.(int64)
		if !ok {
			return end{state: mistaken, path: at.path + " is a list, and has no field " + quote(fmt.Sprint(key))}
		}
		next := end{state: present, path: at.path + "[" + strconv.FormatInt(i, 10) + "]"}
		if i < 0 || i >= int64(len(value)) {
			next.state = absent
			return next
		}
		next.value = value[i]
		return next
	case nil:
		return end{state: null, path: at.path}
	case *types.Err:
		return end{state: unknown}
	}
	if name, ok := key.(string); ok {
		return end{state: mistaken, path: at.path + " is " + typeName(at.value) + ", and has no field " + quote(name)}
	}
	return end{state: mistaken, path: at.path + " is " + typeName(at.value) + ", and has no elements"}
}

// join appends a field to the path. The first field of a late reference is the id of
// a node.
func (at end) join(name string) string {
	if at.path == "" {
		if Bare(name) {
			return name
		}
		return nodesVariable + "[" + quote(name) + "]"
	}
	text := Path{name}.String()
	if text[0] == '[' {
		return at.path + text
	}
	return at.path + "." + text
}

// closed reports whether e can be evaluated on its own, because it uses no variable of
// an enclosing comprehension.
func (w *walker) closed(e ast.Expr) bool {
	free := true
	bound := map[string]bool{w.program.variable: true}
	visitor := ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			for _, name := range []string{c.IterVar(), c.IterVar2(), c.AccuVar()} {
				bound[name] = true
			}
		}
	})
	ast.PreOrderVisit(e, visitor)
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && !bound[e.AsIdent()] {
			if _, loop := w.loops[e.AsIdent()]; loop || !w.isType(e.AsIdent()) && !w.program.isVariable(e.AsIdent()) {
				free = false
			}
		}
	}))
	return free
}

// isType reports whether name is a type of CEL.
func (w *walker) isType(name string) bool {
	_, found := w.program.env.CELTypeProvider().FindIdent(name)
	return found
}

// run evaluates a subexpression. Its errors are not shown: callers only want to
// know whether and how it fails. The parts of an expression may cost more than the
// whole, which leaves parts out. Together with the whole they may cost twice as much
// as an evaluation.
func (w *walker) run(e ast.Expr) (any, error) {
	w.of.cost += partCost
	if w.of.cost >= 2*w.program.limit {
		return nil, errors.New("explaining the error takes too long")
	}
	whole := w.program.checked.NativeRep()
	part := ast.NewCheckedAST(ast.NewAST(e, whole.SourceInfo()), whole.TypeMap(), whole.ReferenceMap())
	program, err := w.program.env.PlanProgram(part, limits(2*w.program.limit-w.of.cost)...)
	if err != nil {
		return nil, err
	}
	result, err := w.of.run(program)
	if err != nil {
		return nil, err
	}
	return native(result)
}

// native is [plain] for intermediate results: it keeps scalars as they are.
func native(v ref.Val) (any, error) {
	switch v := v.(type) {
	case traits.Mapper, traits.Lister:
		return plain(v)
	case *types.Optional:
		if !v.HasValue() {
			return Omitted{}, nil
		}
		return native(v.GetValue())
	case types.Null:
		return nil, nil
	}
	return v.Value(), nil
}
