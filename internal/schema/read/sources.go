package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// sources describes the source of a struct: the literals that it is unified from,
// directly and through references, and the ifs in them. CUE's evaluation shows
// the fields of a struct, but not which declarations they come from, and it
// evaluates ifs without data. The source has both.
type sources struct {
	// literals are the struct literals and files.
	literals []ast.Node
	// declared are the literals' fields by name. It is filled on first use,
	// when all literals are known.
	declared map[string][]*ast.Field
	// parameters are the definitions and hidden fields whose values depend on
	// input. They may repeat.
	parameters []string
	// calls are the validators that all values must pass.
	calls []cue.Value
	// guarded describes the additions of ifs and fors.
	guarded *syntax.Guarded
	// conditions are the parts that hold only for some input, or for some
	// members of a disjunction.
	conditions []condition
	// ways is the number of ways in which the disjunctions can be resolved.
	ways int
	// dropped are the disjunctions from which CUE drops a default because
	// another member covers it. That member has fields that wait for the values
	// that the default has.
	dropped []ast.Expr
	// other means that a guard may make the value something else than a struct,
	// as in {if x {3}}.
	other bool
	// counting makes [reader.collect] count the ways without a contradiction.
	// That takes a unification; see cuefault.Overflow.
	counting bool
}

// declarations returns the literals' own declarations of a field, without those
// in ifs and fors. A struct may have hundreds of fields, so they are listed
// once.
func (s *sources) declarations(name string) []*ast.Field {
	if s.declared == nil {
		s.declared = map[string][]*ast.Field{}
		for _, n := range s.literals {
			lit, ok := n.(*ast.StructLit)
			if !ok {
				continue
			}
			for _, d := range lit.Elts {
				f, ok := d.(*ast.Field)
				if !ok {
					continue
				}
				if declared, ok := syntax.StaticName(f.Label); ok {
					s.declared[declared] = append(s.declared[declared], f)
				}
			}
		}
	}
	return s.declared[name]
}

// position returns where the literals first declare a field. It is invalid if
// none does.
func (s *sources) position(name string) token.Pos {
	for _, f := range s.declarations(name) {
		if p := f.Pos(); p.IsValid() {
			return p
		}
	}
	return token.NoPos
}

// markOf returns the mark of a field, which is optional, required or none, as the
// literals declare it without ifs, whose guards may happen to hold without input.
// A field is regular if any declaration is, and required if another has !.
func (s *sources) markOf(name string) cue.SelectorType {
	mark := cue.OptionalConstraint
	for _, f := range s.declarations(name) {
		switch f.Constraint {
		case token.ILLEGAL:
			return cue.StringLabel
		case token.NOT:
			mark = cue.RequiredConstraint
		}
	}
	return mark
}

// isBound reports whether the field's own declarations supply no value. It is
// false if the literals don't declare the field.
func (s *sources) isBound(name string) bool {
	all := s.declarations(name)
	return len(all) > 0 && !slices.ContainsFunc(all, func(f *ast.Field) bool { return !syntax.IsBound(f.Value) })
}

// condition is a part of a struct that holds only for some input.
type condition struct {
	// comprehension is the part if it is an if or a for, and nil otherwise.
	comprehension *ast.Comprehension
	// notes are reported unless a rule expresses the part.
	notes problem.List
}

// guard marks n as guarded, so that the reader skips it, and adds a condition.
func (s *sources) guard(in context, n ast.Node, what string) {
	if sp := syntax.SpanOf(n); !slices.Contains(*in.guarded, sp) {
		*in.guarded = append(*in.guarded, sp)
	}
	comprehension, _ := n.(*ast.Comprehension)
	s.conditions = append(s.conditions, condition{comprehension, in.noteOf(n.Pos(), "%s", what)})
}
