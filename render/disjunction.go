package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// alternatives gives the branches of a disjunction that are left of it, in the
// author's order where that is known, and a single value for anything else. A
// default that another branch takes too isn't one of them.
func alternatives(v cue.Value) []cue.Value {
	op, args := v.Eval().Expr()
	if op != cue.OrOp {
		if op == cue.NoOp && len(args) == 1 && v.IncompleteKind() != cue.BottomKind {
			if _, has := v.Default(); has && !v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
				return args
			}
		}
		return []cue.Value{v}
	}
	sortByPlace(args)
	return args
}

// sortByPlace puts values of one file into the author's order; CUE has defaults
// first.
func sortByPlace(values []cue.Value) {
	slices.SortStableFunc(values, func(a, b cue.Value) int {
		p, q := a.Pos(), b.Pos()
		if p.Filename() == "" || p.Filename() != q.Filename() {
			return 0
		}
		return p.Offset() - q.Offset()
	})
}

// branch is the alternative of a union that a mapping was meant to be: fields
// that leave no other, the names that only other branches know, and what is
// said of those.
type branch struct {
	with   []*ast.Field
	others []string
	not    string
	// unclear says that there is no telling, which has been reported.
	unclear bool
}

// choose finds the branch of a union that a mapping was meant to be.
func (d *diagnosis) choose(p place, s *ast.StructLit) branch {
	union := d.at(p, &ast.StructLit{})
	all := filter(alternatives(union), func(v cue.Value) bool { return v.IncompleteKind() == cue.StructKind })
	b, left := d.byDiscriminator(p, s, union, all)
	if b.unclear {
		return b
	}
	if len(left) > 1 {
		likely, certain := likeliest(left, s)
		if !certain && !slices.ContainsFunc(cuesyntax.Fields(s), func(f *ast.Field) bool { return hasName(likely, cuesyntax.LabelName(f.Label)) }) {
			b.unclear = d.noBranch(p, s, union, left, "", nil)
			return b
		}
		left = []cue.Value{likely}
		with := slices.Clone(b.with)
		for _, name := range required(likely) {
			if cuesyntax.Field(cuesyntax.Struct(with), name) == nil {
				with = append(with, &ast.Field{Label: cuesyntax.Label(name, s.Pos()), Value: cuesyntax.Any()})
			}
		}
		if len(alternatives(d.at(p, cuesyntax.Struct(with)))) == 1 {
			b.with = with
		}
	}
	if len(left) == 1 {
		b.apart(left[0], all, s)
	}
	return b
}

// byDiscriminator narrows a union down by fields that have plain values in every
// branch.
func (d *diagnosis) byDiscriminator(p place, s *ast.StructLit, union cue.Value, left []cue.Value) (b branch, _ []cue.Value) {
	for len(left) > 1 {
		name, values := discriminator(left, s)
		if name == "" {
			break
		}
		f := cuesyntax.Field(s, name)
		if f == nil {
			likely, certain := likeliest(left, s)
			if !certain {
				b.unclear = d.noBranch(p, s, union, left, name, values)
				return b, left
			}
			left = []cue.Value{likely}
			value := literalOf(alternatives(schemaOf(likely, name))[0])
			b.with = append(b.with, &ast.Field{Label: cuesyntax.Label(name, s.Pos()), Value: value})
			continue
		}
		left = filter(left, func(v cue.Value) bool { return takes(v, f) })
		if len(left) == 0 {
			d.oneOf(union, values, 0, f.Value, fieldpath.Join(p.path, name))
			b.unclear = true
			return b, nil
		}
		b.with = append(b.with, f)
		b.not = fmt.Sprintf("unknown field where %s is %s", name, show(f.Value))
	}
	return b, left
}

// apart notes what tells a branch from the others.
func (b *branch) apart(chosen cue.Value, all []cue.Value, s *ast.StructLit) {
	for _, v := range all {
		for _, name := range fieldNames(v) {
			if !hasName(chosen, name) {
				b.others = append(b.others, name)
			}
		}
	}
	for _, f := range cuesyntax.Fields(s) {
		name := cuesyntax.LabelName(f.Label)
		if b.not == "" && hasName(chosen, name) && slices.ContainsFunc(all, func(v cue.Value) bool { return !hasName(v, name) }) {
			b.not = "not allowed beside " + name
		}
	}
	if b.not == "" {
		b.others = nil
	}
}

// noBranch reports a mapping that could be meant for any of several branches; it
// says whether it did.
func (d *diagnosis) noBranch(p place, s *ast.StructLit, union cue.Value, branches []cue.Value, name string, values []cue.Value) bool {
	var known []string
	for _, v := range branches {
		known = append(known, fieldNames(v)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	strange := filter(cuesyntax.Fields(s), func(f *ast.Field) bool { return !slices.Contains(known, cuesyntax.LabelName(f.Label)) })
	if len(strange) > 0 {
		d.unknown(p, branch{}, branches[0], strange, typosOf(strange, cuesyntax.Fields(s), known), known)
		return true
	}
	if name != "" {
		d.add(fieldpath.Join(p.path, name), problem.RuleRequired, d.rulePos(union), "missing", "one of "+strings.Join(literals(values), ", "))
		return true
	}
	var needs []string
	for _, v := range branches {
		if w := strings.Join(wanted(v), " and "); w != "" && !slices.Contains(needs, w) {
			needs = append(needs, w)
		}
	}
	if len(needs) > 0 {
		d.add(p.path, problem.RuleRequired, d.rulePos(union), "incomplete", "it needs "+orList(needs))
	}
	return len(needs) > 0
}

// discriminator finds a field that has plain values in every branch, and not the
// same in all: one that the data has, else any. It gives all those values.
func discriminator(branches []cue.Value, s *ast.StructLit) (found string, values []cue.Value) {
	for _, name := range fieldNames(branches[0]) {
		f := cuesyntax.Field(s, name)
		if found != "" && f == nil {
			continue
		}
		var all []cue.Value
		for _, b := range branches {
			alts := alternatives(schemaOf(b, name))
			if slices.ContainsFunc(alts, func(v cue.Value) bool { return !isLiteral(v) }) {
				all = nil
				break
			}
			all = append(all, alts...)
		}
		if len(literals(all)) < 2 {
			continue
		}
		if f != nil && !slices.ContainsFunc(branches, func(b cue.Value) bool { return !takes(b, f) }) {
			continue // done with: it says nothing more
		}
		found, values = name, all
		if f != nil {
			break
		}
	}
	sortByPlace(values)
	return found, values
}

// takes says whether a branch has the plain value that the data has in a field.
func takes(b cue.Value, f *ast.Field) bool {
	return slices.ContainsFunc(alternatives(schemaOf(b, cuesyntax.LabelName(f.Label))), func(l cue.Value) bool { return equals(l, f.Value) })
}

// required lists the fields of a schema that aren't optional.
func required(v cue.Value) []string {
	var names []string
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		if it.FieldType()&cue.OptionalConstraint == 0 {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// likeliest is the branch with the most plain values in common with the data,
// then the most field names, slips counted, then the fewest fields that the
// data lacks; certain says that no other branch comes as near.
func likeliest(branches []cue.Value, s *ast.StructLit) (best cue.Value, certain bool) {
	scores := make([]int, len(branches))
	for i, b := range branches {
		names := fieldNames(b)
		for _, f := range cuesyntax.Fields(s) {
			scores[i] += likeness(b, names, cuesyntax.LabelName(f.Label), f.Value)
		}
		scores[i] -= len(wanted(b))
	}
	most := slices.Max(scores)
	at := slices.Index(scores, most)
	return branches[at], most > 0 && !slices.Contains(scores[at+1:], most)
}

func likeness(b cue.Value, names []string, name string, e ast.Expr) int {
	weight := 10
	if !slices.Contains(names, name) {
		if name = source.Nearest(name, names); name == "" {
			return 0
		}
		weight = 5
	}
	schema := schemaOf(b, name)
	switch alts := alternatives(schema); {
	case !isLiteral(alts[0]):
		if kindsOf(schema)&kindOf(e) == 0 {
			return weight - 1
		}
		return weight
	case slices.ContainsFunc(alts, func(l cue.Value) bool { return equals(l, e) }):
		return 100 * weight
	}
	return -100 * weight
}

func child(v cue.Value, f *ast.Field) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(cuesyntax.LabelName(f.Label))))
}

// schemaOf gives a field of a schema, optional or not.
func schemaOf(v cue.Value, name string) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

func hasName(v cue.Value, name string) bool { return slices.Contains(fieldNames(v), name) }
