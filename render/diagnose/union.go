package diagnose

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

// branch is the branch of a union, a disjunction of structs, that a struct of
// the instance was meant for.
type branch struct {
	// with are the fields that leave no other branch: discriminators of the
	// instance, and fields that the instance lacks.
	with []*ast.Field
	// excluded are the fields that only other branches have.
	excluded excludedFields
	// reported means that the branch can't be determined, and that the reason
	// has been reported.
	reported bool
}

// chooseBranch finds the branch of a union that a struct was meant for: by
// fields that have a fixed value in every branch (discriminators), then by
// likeness.
//
// For the union
//
//	{kind: "s3", bucket: string} | {kind: "disk", path: string}
//
// kind is a discriminator. With kind: disk the second branch is left, and a field
// bucket is reported as an unknown field where kind is "disk".
func (d *diagnosis) chooseBranch(loc location, s *ast.StructLit) branch {
	union := d.try(loc, &ast.StructLit{})
	all := filter(alternatives(union), func(v cue.Value) bool { return v.IncompleteKind() == cue.StructKind })
	b, left := d.narrowByDiscriminators(loc, s, union, all)
	if b.reported {
		return b
	}
	// Discriminators did not decide. Take the most similar branch, and keep it by
	// adding its fields with any value, if that leaves no other branch.
	if len(left) > 1 {
		best, certain := mostLike(left, s)
		declaresAny := slices.ContainsFunc(cuesyntax.Fields(s), func(f *ast.Field) bool { return declares(best, cuesyntax.LabelName(f.Label)) })
		if !certain && !declaresAny {
			b.reported = d.addNoBranch(loc, s, union, left, "", nil)
			return b
		}
		left = []cue.Value{best}
		with := slices.Clone(b.with)
		for _, name := range namesOf(best, func(it *cue.Iterator) bool { return !isOptional(it) }) {
			if cuesyntax.Field(cuesyntax.Struct(with), name) == nil {
				with = append(with, &ast.Field{Label: cuesyntax.Label(name, s.Pos()), Value: cuesyntax.Any()})
			}
		}
		if len(alternatives(d.try(loc, cuesyntax.Struct(with)))) == 1 {
			b.with = with
		}
	}
	if len(left) == 1 {
		b.exclude(left[0], all, s)
	}
	return b
}

// narrowByDiscriminators returns the branches that are left when each
// discriminator has its value from the instance, or from the most similar
// branch if the instance lacks it.
func (d *diagnosis) narrowByDiscriminators(loc location, s *ast.StructLit, union cue.Value, left []cue.Value) (b branch, _ []cue.Value) {
	// Each turn either removes a branch, adds a discriminator or ends the loop.
	for len(left) > 1 {
		name, values := discriminator(left, s)
		if name == "" {
			break
		}
		f := cuesyntax.Field(s, name)
		if f == nil {
			best, certain := mostLike(left, s)
			if !certain {
				b.reported = d.addNoBranch(loc, s, union, left, name, values)
				return b, left
			}
			left = []cue.Value{best}
			value := literalSyntax(alternatives(declaredField(best, name))[0])
			b.with = append(b.with, &ast.Field{Label: cuesyntax.Label(name, s.Pos()), Value: value})
			continue
		}
		left = filter(left, func(v cue.Value) bool { return admitsLiteral(v, f) })
		if len(left) == 0 {
			d.addNotInEnum(union, values, 0, f.Value, fieldpath.Join(loc.path, name))
			b.reported = true
			return b, nil
		}
		b.with = append(b.with, f)
		b.excluded.message = fmt.Sprintf("unknown field where %s is %s", name, quoteValue(f.Value))
	}
	return b, left
}

// exclude records the fields that the other branches have and the chosen one has
// not, and the message for them: "not allowed beside bucket" if no discriminator
// has set another one. Without a field that tells the branches apart there is no
// message, and the fields are reported like any unknown field.
func (b *branch) exclude(chosen cue.Value, all []cue.Value, s *ast.StructLit) {
	for _, v := range all {
		for _, name := range FieldNames(v) {
			if !declares(chosen, name) {
				b.excluded.names = append(b.excluded.names, name)
			}
		}
	}
	for _, f := range cuesyntax.Fields(s) {
		name := cuesyntax.LabelName(f.Label)
		if b.excluded.message == "" && declares(chosen, name) && slices.ContainsFunc(all, func(v cue.Value) bool { return !declares(v, name) }) {
			b.excluded.message = "not allowed beside " + name
		}
	}
	if b.excluded.message == "" {
		b.excluded.names = nil
	}
}

// addNoBranch reports a struct that could be meant for several branches: its
// unknown fields, else the missing discriminator, else the fields that the
// branches require. It returns false if there is nothing to report. Examples of
// its messages:
//
//	spec.storage.kind: missing; one of "s3", "disk"
//	spec.storage: incomplete; it needs bucket or path
func (d *diagnosis) addNoBranch(loc location, s *ast.StructLit, union cue.Value, branches []cue.Value, name string, values []cue.Value) bool {
	var known []string
	for _, v := range branches {
		known = append(known, FieldNames(v)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	unknown := filter(cuesyntax.Fields(s), func(f *ast.Field) bool { return !slices.Contains(known, cuesyntax.LabelName(f.Label)) })
	if len(unknown) > 0 {
		typos := typosOf(unknown, cuesyntax.Fields(s), known)
		d.addUnknownFields(loc, branches[0], unknown, known, typos, excludedFields{})
		return true
	}
	if name != "" {
		d.add(fieldpath.Join(loc.path, name), problem.RuleRequired, d.schemaPosition(union), "missing", "one of "+strings.Join(literals(values), ", "))
		return true
	}
	var needs []string
	for _, v := range branches {
		if names := strings.Join(requiredNames(v), " and "); names != "" && !slices.Contains(needs, names) {
			needs = append(needs, names)
		}
	}
	if len(needs) > 0 {
		d.add(loc.path, problem.RuleRequired, d.schemaPosition(union), "incomplete", "it needs "+orList(needs))
	}
	return len(needs) > 0
}

// discriminator returns a field that has fixed values in every branch, not all
// the same, and those values. It prefers a field that the instance has and
// that rules out a branch.
func discriminator(branches []cue.Value, s *ast.StructLit) (found string, values []cue.Value) {
	for _, name := range FieldNames(branches[0]) {
		f := cuesyntax.Field(s, name)
		if found != "" && f == nil {
			continue
		}
		var all []cue.Value
		for _, b := range branches {
			alts := alternatives(declaredField(b, name))
			if slices.ContainsFunc(alts, func(v cue.Value) bool { return !isLiteral(v) }) {
				all = nil
				break
			}
			all = append(all, alts...)
		}
		if len(literals(all)) < 2 {
			continue
		}
		if f != nil && !slices.ContainsFunc(branches, func(b cue.Value) bool { return !admitsLiteral(b, f) }) {
			continue // all branches admit its value
		}
		found, values = name, all
		if f != nil {
			break
		}
	}
	sortByPosition(values)
	return found, values
}

// admitsLiteral reports whether a branch has the value of an instance's field
// among its fixed values of that field.
func admitsLiteral(b cue.Value, f *ast.Field) bool {
	return slices.ContainsFunc(alternatives(declaredField(b, cuesyntax.LabelName(f.Label))), func(l cue.Value) bool { return equals(l, f.Value) })
}

// mostLike returns the branch that is most like the instance, and whether no
// other is as much like it. What counts is first the number of equal fixed
// values, then of common field names with typos, then of required fields that are
// missing. A branch with nothing in common is never certain.
func mostLike(branches []cue.Value, s *ast.StructLit) (best cue.Value, certain bool) {
	scores := make([]int, len(branches))
	for i, b := range branches {
		names := FieldNames(b)
		for _, f := range cuesyntax.Fields(s) {
			scores[i] += likeness(b, names, cuesyntax.LabelName(f.Label), f.Value)
		}
		scores[i] -= len(requiredNames(b))
	}
	most := slices.Max(scores)
	at := slices.Index(scores, most)
	return branches[at], most > 0 && !slices.Contains(scores[at+1:], most)
}

// likeness scores one field of the instance against a branch with the given field
// names. A fixed value weighs 100 times as much as a name, for or against the
// branch. A typo weighs half, and a value of the wrong kind a little less than
// one of the right kind.
func likeness(b cue.Value, names []string, name string, e ast.Expr) int {
	weight := 10
	if !slices.Contains(names, name) {
		if name = source.Nearest(name, names); name == "" {
			return 0
		}
		weight = 5
	}
	schema := declaredField(b, name)
	switch alts := alternatives(schema); {
	case !isLiteral(alts[0]):
		if schemaKinds(schema)&dataKind(e) == 0 {
			return weight - 1
		}
		return weight
	case slices.ContainsFunc(alts, func(l cue.Value) bool { return equals(l, e) }):
		return 100 * weight
	}
	return -100 * weight
}
