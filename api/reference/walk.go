package reference

import (
	"fmt"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// walker follows the fields that an expression reads through the data, to say
// where they end. It runs after an error only.
type walker struct {
	program *Program
	data    map[string]any
	loops   map[string]ast.Expr // by loop variable: what it runs over
}

// end is where a chain of fields ends.
type end struct {
	state state
	path  string // for mistaken: the whole message
	value any
}

type state int

const (
	unknown state = iota // can't be followed
	present
	absent
	null     // a field is read of a null
	mistaken // a field is read of what has no fields
)

func (p *Program) walker(data map[string]any) *walker {
	return &walker{program: p, data: data, loops: map[string]ast.Expr{}}
}

// find returns the expression with an id, and notes the loops around it.
func (w *walker) find(id int64) ast.Expr {
	var found ast.Expr
	var visit func(ast.NavigableExpr)
	visit = func(e ast.NavigableExpr) {
		if e.ID() == id && found == nil {
			found = e
			for parent, ok := e.Parent(); ok; parent, ok = parent.Parent() {
				if parent.Kind() == ast.ComprehensionKind {
					c := parent.AsComprehension()
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
	visit(ast.NavigateAST(w.program.expression.checked.NativeRep()))
	return found
}

// follow returns where the fields that e reads end: once, or for each value of
// the loop variable that they begin with.
func (w *walker) follow(e ast.Expr) []end {
	operand, key, ok := step(e)
	if !ok {
		return w.begin(e)
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

// step takes a selection or an index apart. The key is an expression, or the
// name of a field.
func step(e ast.Expr) (operand ast.Expr, key any, ok bool) {
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

// begin gives the values that a chain of fields begins with.
func (w *walker) begin(e ast.Expr) []end {
	if e.Kind() == ast.IdentKind {
		switch name := e.AsIdent(); name {
		case w.program.expression.variable:
			path := name
			if name == nodesVariable {
				path = ""
			}
			return []end{{state: present, path: path, value: w.data}}
		default:
			if over, ok := w.loops[name]; ok {
				return w.elements(over)
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

// elements gives the values of a variable that runs over e.
func (w *walker) elements(e ast.Expr) []end {
	var ends []end
	for _, at := range w.follow(e) {
		switch value := at.value.(type) {
		case []any:
			for i, element := range value {
				ends = append(ends, end{state: present, path: at.path + "[" + strconv.Itoa(i) + "]", value: element})
			}
		case map[string]any:
			for _, key := range sortedKeys(value) {
				ends = append(ends, end{state: present, path: at.path + "'s key " + quote(key), value: key})
			}
		}
	}
	return ends
}

// field goes one step further.
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

// join writes the next step of a path: the first one of a late reference is
// the id of a node.
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

// closed says whether e can be run on its own: it reads no variable of a loop
// around it.
func (w *walker) closed(e ast.Expr) bool {
	free := true
	bound := map[string]bool{w.program.expression.variable: true}
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
			if _, loop := w.loops[e.AsIdent()]; loop || !w.isType(e.AsIdent()) {
				free = false
			}
		}
	}))
	return free
}

func (w *walker) isType(name string) bool {
	_, found := w.program.expression.env.CELTypeProvider().FindIdent(name)
	return found
}

// run evaluates a part of the expression.
func (w *walker) run(e ast.Expr) (any, error) {
	whole := w.program.expression.checked.NativeRep()
	part := ast.NewCheckedAST(ast.NewAST(e, whole.SourceInfo()), whole.TypeMap(), whole.ReferenceMap())
	program, err := w.program.expression.env.PlanProgram(part)
	if err != nil {
		return nil, err
	}
	result, _, err := program.Eval(map[string]any{w.program.expression.variable: w.data})
	if err != nil {
		return nil, err
	}
	return native(result)
}

// native is plain for values that are looked at and not kept.
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
