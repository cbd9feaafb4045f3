package vet

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// inputWalker walks the syntax of a definition, #Render or #Policy, and finds out
// what it reads of its input. A misspelled field in a guard, as in `if
// input.spec.teir != _|_`, is not an error in CUE: the guard just never holds.
type inputWalker struct {
	resolver
	// severity is the severity of reads of missing fields, and suffix is appended
	// to their message.
	severity problem.Severity
	suffix   string

	// problems and never, the guards that never hold, are the results.
	problems problem.List
	never    map[*ast.IfClause]bool

	// branches are the choices for which one `if` or `for` yields something or
	// nothing, and allowing are the choices for which a violation does not occur.
	branches, allowing []choice
	// keys are the wants of labels that depend on the input.
	keys []want
}

// place is the place of a node in the definition.
type place struct {
	// top means that it is the definition itself, in which the field input is the
	// schema.
	top bool
	// inViolations means that it is in the list of violations, the refusals in the
	// output of #Render and of #Policy.
	inViolations bool
	// enclosing are the choices for which the enclosing clauses hold.
	enclosing []choice
}

// walk walks the definition called root in all files of a package.
func (w *inputWalker) walk(inst *build.Instance, root string) {
	at := place{top: true, enclosing: noWants}
	w.declared, w.never = map[ast.Node]bool{}, map[*ast.IfClause]bool{}
	for _, visit := range []func(ast.Node, place) (place, bool){w.declare, w.visit} {
		for _, f := range inst.Files {
			for _, d := range f.Decls {
				if cuesyntax.FieldName(d) == root {
					syntax.Walk(ast.Node(d.(*ast.Field).Value), at, visit)
				}
			}
		}
	}
}

// declare records the declarations of the input.
func (w *inputWalker) declare(n ast.Node, at place) (place, bool) {
	if f, ok := n.(*ast.Field); ok && cuesyntax.LabelName(f.Label) == "input" {
		w.declared[f.Value] = true
	}
	_, isField := n.(*ast.Field)
	return at, !isField
}

// visit checks a node of the definition.
func (w *inputWalker) visit(n ast.Node, at place) (place, bool) {
	switch x := n.(type) {
	case *ast.Field:
		name, static := syntax.StaticName(x.Label)
		if at.top && name == "input" {
			return at, false // the field is the schema
		}
		if !static {
			w.wantKey(x.Label)
		}
		at.top, at.inViolations = false, at.inViolations || name == "violations"
	case *ast.LetClause:
		at.top = false
	case *ast.StructLit:
		if at.inViolations {
			w.checkViolationPath(x)
		}
	case *ast.Comprehension:
		w.comprehension(x, at)
		return at, false
	case *ast.SelectorExpr:
		w.checkField(x, x.Sel)
	case *ast.IndexExpr:
		w.checkField(x, x.Index)
	}
	return at, true
}

// checkField reports an expression that selects a field that the input does not have,
// at the position of its name.
func (w *inputWalker) checkField(e ast.Expr, at ast.Node) {
	from, name, named := selection(e)
	if of, ok := w.read(from); ok && named {
		w.field(of, name, at)
	}
}

// field returns the schema of a field, and reports a problem at the given node if
// no schema has the field. It returns false without a problem if the field cannot
// be resolved.
func (w *inputWalker) field(of schema, name string, at ast.Node) (schema, bool) {
	to, ok := of.field(name)
	if known, lacks := of.lacks(name); lacks {
		// Only fields of spec come from #Input. The rest of the input, such as
		// metadata, belongs to every module.
		message := "#Input has no " + strings.TrimPrefix(to.path, "spec.")
		if !strings.HasPrefix(to.path, "spec.") {
			message = "the input has no " + to.path
		}
		slices.Sort(known)
		w.problems = append(w.problems, problem.Problem{
			Position: cuesyntax.Position(at.Pos()), Path: "input." + to.path, Rule: problem.RuleUnknown, Severity: w.severity,
			Message: message + w.suffix, Hint: source.Hint(name, slices.Compact(known)),
		})
	}
	return to, ok
}

// comprehension walks a comprehension, records the choices for which its clauses
// do and do not yield something, and checks its guards.
//
// For a guard below enclosing guards, the sample in which it does not hold must
// still satisfy the enclosing ones. Otherwise the sample would not reach the
// guard.
func (w *inputWalker) comprehension(c *ast.Comprehension, at place) {
	at.top = false
	for _, clause := range c.Clauses {
		syntax.Walk(ast.Node(clause), at, w.visit)
		switch x := clause.(type) {
		case *ast.ForClause:
			// The loop yields something only if its source has an item.
			if of, ok := w.read(x.Source); ok {
				if item, ok := of.item(); ok {
					at.enclosing = combine(at.enclosing, []choice{{{path: item.wantPath, value: ast.NewIdent("_"), present: true}}})
				}
			}
		case *ast.IfClause:
			w.checkGuard(x)
			otherwise := w.choices(x.Condition, false)
			w.branches = append(w.branches, combine(at.enclosing, otherwise)...)
			if at.inViolations {
				w.allowing = append(w.allowing, otherwise...)
			}
			at.enclosing = w.enter(x, at.enclosing, w.choices(x.Condition, true))
		}
	}
	w.branches = append(w.branches, at.enclosing...)
	syntax.Walk(ast.Node(c.Value), at, w.visit)
}

// enter returns the choices inside of a guard, given those of the enclosing clauses
// and its own. It reports the guard if the enclosing clauses exclude all of its
// choices. It cannot know that if choices were dropped because of maxChoices, or if an
// enclosing guard is impossible already.
func (w *inputWalker) enter(c *ast.IfClause, enclosing, holds []choice) []choice {
	both := slices.DeleteFunc(combine(enclosing, holds), choice.contradicts)
	if len(both) == 0 && len(enclosing) > 0 && len(enclosing)*len(holds) <= maxChoices && !w.never[c] {
		w.reportNever(c, problem.Problem{Message: exprText(c.Condition), Hint: "a condition around it excludes that"}, c.Condition)
	}
	return both
}

// checkGuard reports a guard that never holds for any instance, because it
// compares a field with a value that the schema of the field excludes. For
// example, given tier: "small" | "large", it reports
//
//	if input.spec.tier == "medium" {...}
//
// It looks at each operand of a conjunction alone, since one impossible operand
// makes the guard impossible.
func (w *inputWalker) checkGuard(c *ast.IfClause) {
	for _, e := range syntax.Operands(c.Condition, token.LAND) {
		switch x := e.(type) {
		case *ast.BasicLit:
			if x.Kind == token.FALSE {
				w.reportNever(c, problem.Problem{Message: "false"}, x)
			}
		case *ast.BinaryExpr:
			compared, ok := w.comparison(x, true)
			if !ok || compared.possible() {
				continue
			}
			v := w.valueAt(compared.of.wantPath)
			p := problem.Problem{Path: "input." + compared.of.path, Message: exprText(x), Related: cuesyntax.Position(v.Pos())}
			// A long schema, such as that of a struct, explains less than its
			// position, which Related has.
			if text := exprText(v.Syntax(cue.Raw())); v.Exists() && len(text) < 80 {
				p.Hint = "the schema is " + text
			}
			w.reportNever(c, p, x)
		}
	}
}

// reportNever reports a guard that never holds, at the given node, and records it for
// the check for unreachable nodes. The message of p is the condition.
func (w *inputWalker) reportNever(c *ast.IfClause, p problem.Problem, at ast.Node) {
	w.never[c] = true
	p.Position, p.Rule, p.Severity, p.Message = cuesyntax.Position(at.Pos()), problem.RuleModule, w.severity, "never holds: "+p.Message
	w.problems = append(w.problems, p)
}

// wantKey records a value for every field of the input that a computed label reads.
// Without the values, the field with the label would not exist.
func (w *inputWalker) wantKey(l ast.Label) {
	w.visitReads(l, func(of schema) {
		if values := of.candidates(nil); len(values) > 0 {
			w.keys = append(w.keys, want{path: of.wantPath, value: values[0]})
		}
	})
}

// checkViolationPath checks the path of a violation. A violation without a node
// has a path in the input, which must exist in the schema. For example, the walk
// of
//
//	output: violations: [{message: "too few", path: "spec.replica"}]
//
// reports that #Input has no replica. A path that is not a literal, or that has a
// selector other than a field or an index, is not checked. The path of a violation
// with a node is a path in that node.
func (w *inputWalker) checkViolationPath(s *ast.StructLit) {
	path := cuesyntax.Field(s, "path")
	if path == nil || cuesyntax.Field(s, "node") != nil {
		return
	}
	text, ok := cuesyntax.Text(path.Value)
	if !ok {
		return
	}
	of := w.input
	for _, sel := range cue.ParsePath(text).Selectors() {
		switch sel.LabelType() {
		case cue.StringLabel:
			of, ok = w.field(of, sel.Unquoted(), path.Value)
		case cue.IndexLabel:
			of, ok = of.item()
		default:
			ok = false
		}
		if !ok {
			return
		}
	}
}

// exprText formats syntax in one line of limited length, for messages. Longer
// expressions would hide the message around them.
func exprText(n ast.Node) string { return source.Clip(syntax.Text(n), 120) }
