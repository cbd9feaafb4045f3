package diagnose

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// diagnoseStruct reports the mistakes in a struct whose schema admits structs.
// v is the struct unified with its schema.
//
// It finds the branch that was meant if the schema is a union, classifies the
// fields, and then reports invalid fields, missing ones and unknown ones. The
// order matters: what is reported first explains what comes later, and is not
// reported again.
func (d *diagnosis) diagnoseStruct(loc location, v cue.Value, s *ast.StructLit) {
	// In a union the fields that choose the branch are added to every trial below,
	// so that CUE reports the errors of that branch alone.
	var b branch
	if isFailedUnion(v) || len(alternatives(v)) > 1 {
		b = d.chooseBranch(loc, s)
		if b.reported {
			return
		}
		v = d.try(loc, cuesyntax.Struct(b.with, cuesyntax.Fields(s)...))
	}
	c := d.classify(loc, v, b.with, s)
	names := knownNames(c.schema, c.context, s)
	typos := typosOf(c.unknown, cuesyntax.Fields(s), names)

	siblings := slices.Concat(b.with, c.valid)
	locationOf := func(f *ast.Field) location { return loc.field(siblings, cuesyntax.LabelName(f.Label)) }
	dependencies := func(f *ast.Field) []dependency {
		return d.dependencies.of(d.root, cuesyntax.LabelName(f.Label), c.schema)
	}
	// Fields that depend on others come last. If such a field has an admitted
	// kind, and a mistake in what it depends on is reported, it may be right.
	for _, f := range c.invalid {
		if len(dependencies(f)) == 0 {
			d.diagnoseValue(locationOf(f), fieldValue(c.context, f), f.Value)
		}
	}
	for _, f := range c.invalid {
		deps, schema := dependencies(f), fieldValue(c.context, f)
		if len(deps) > 0 && (schemaKinds(schema)&dataKind(f.Value) == 0 || !dependOnMistake(deps, d.problems, typos)) {
			d.diagnoseValue(locationOf(f), schema, f.Value)
		}
	}
	d.addMissingFields(loc, c.context, s, typos)
	for _, f := range c.valid {
		d.diagnoseIncomplete(locationOf(f), fieldValue(c.context, f), f.Value)
	}
	if len(c.unknown) > 0 {
		d.addUnknownFields(loc, c.schema, c.unknown, names, typos, b.excluded)
	}
}

// classes are the fields of a struct by what CUE thinks of them.
type classes struct {
	valid   []*ast.Field // valid next to each other
	invalid []*ast.Field // not valid next to the valid ones
	unknown []*ast.Field // not in the schema
	// schema is the struct's schema without data.
	schema cue.Value
	// context is the struct evaluated with the valid fields, and with anything
	// in place of the invalid ones.
	context cue.Value
}

// classify sorts the fields of a struct into classes. v is the struct evaluated
// with all its fields, and with those that choose a branch.
//
// Guards make this a loop: which fields are known depends on the values of
// others. A field that the schema does not have may become known once the valid
// fields are given, which may make further fields known. Each turn moves at least
// one field out of the unknown ones.
func (d *diagnosis) classify(loc location, v cue.Value, with []*ast.Field, s *ast.StructLit) classes {
	all := cuesyntax.Fields(s)
	c := classes{schema: d.try(loc, cuesyntax.Struct(with))}
	c.unknown = filter(all, func(f *ast.Field) bool { return !allows(c.schema, f) })
	if len(c.unknown) > 0 {
		v = d.try(loc, cuesyntax.Struct(with, without(all, c.unknown)...))
	}
	for {
		c.valid, c.invalid, c.context = d.separate(loc, v, with, without(all, c.unknown))
		// A field under a guard becomes known once the guard's fields are
		// given.
		guarded := filter(c.unknown, func(f *ast.Field) bool {
			return allows(c.context, f) && !isNotAllowed(fieldValue(d.try(loc, cuesyntax.Struct(with, append(slices.Clone(c.valid), f)...)), f))
		})
		if len(guarded) == 0 {
			break
		}
		c.unknown = without(c.unknown, guarded)
		v = d.try(loc, cuesyntax.Struct(with, without(all, c.unknown)...))
	}
	// Until a guard is decided, CUE allows any field. The fields that fail in
	// such a struct are unknown if the decided struct does not allow them.
	if slices.ContainsFunc(c.invalid, func(f *ast.Field) bool { return !isValid(fieldValue(c.context, f)) }) {
		decided := d.try(loc, cuesyntax.Struct(with, c.valid...))
		unknown := filter(c.invalid, func(f *ast.Field) bool { return !isValid(fieldValue(c.context, f)) && !allows(decided, f) })
		if len(unknown) > 0 {
			c.unknown, c.invalid, c.context = append(c.unknown, unknown...), without(c.invalid, unknown), decided
		}
	}
	return c
}

// separate separates valid fields from invalid ones. v is the struct evaluated
// with all of them. Of fields that are valid alone and not together, the one at
// which CUE reports the conflict is invalid.
//
// The first guess takes the fields with an error for invalid. It is corrected
// twice: by fields that are not valid without the invalid ones, and by fields
// that are valid without them.
func (d *diagnosis) separate(loc location, v cue.Value, with, fields []*ast.Field) (valid, invalid []*ast.Field, context cue.Value) {
	invalid = filter(fields, func(f *ast.Field) bool { return !isValid(fieldValue(v, f)) })
	if isFailedUnion(v) {
		// The error of the disjunction hides those of the fields.
		invalid = filter(fields, func(f *ast.Field) bool { return !isValid(d.try(loc, cuesyntax.Struct(with, f))) })
	} else if len(invalid) == 0 {
		return fields, nil, v
	}
	valid = without(fields, invalid)
	contextOf := func(valid, invalid []*ast.Field) cue.Value {
		all := slices.Concat(with, valid)
		for _, f := range invalid {
			all = append(all, &ast.Field{Label: f.Label, Value: cuesyntax.Any()})
		}
		return d.try(loc, cuesyntax.Struct(all))
	}
	context = contextOf(valid, invalid)
	// Some fields are valid only together with invalid ones.
	if more := filter(valid, func(f *ast.Field) bool { return !isValid(fieldValue(context, f)) }); len(more) > 0 {
		invalid, valid = append(invalid, more...), without(valid, more)
		context = contextOf(valid, invalid)
	}
	// Others are invalid only because of invalid ones.
	doubtful := filter(invalid, func(f *ast.Field) bool { return d.mayBeValid(fieldValue(context, f), f.Value) })
	if len(doubtful) == 0 {
		return valid, invalid, context
	}
	invalid = without(invalid, doubtful)
	for _, f := range doubtful {
		next := d.try(loc, cuesyntax.Struct(with, append(slices.Clone(valid), f)...))
		if isValid(fieldValue(next, f)) && !isFailedUnion(next) {
			valid = append(valid, f)
		} else {
			invalid = append(invalid, f)
		}
	}
	return valid, invalid, contextOf(valid, invalid)
}

// mayBeValid reports whether a value can be valid, judged without its siblings.
// Structs and lists of an admitted kind always can, as judging them takes a
// trial.
func (d *diagnosis) mayBeValid(schema cue.Value, e ast.Expr) bool {
	kinds := schemaKinds(schema)
	switch {
	case kinds == cue.BottomKind:
		return true
	case kinds&dataKind(e) == 0:
		return false
	case dataKind(e)&(cue.StructKind|cue.ListKind) != 0:
		return true
	}
	return isValid(schema.Unify(d.build(e)))
}

// isNotAllowed reports whether a value is a field that its struct does not
// allow.
func isNotAllowed(v cue.Value) bool {
	for _, e := range cueerror.List(v.Err()) {
		if format, _ := e.Msg(); format == "field not allowed" && len(e.Path()) <= len(v.Path().Selectors()) {
			return true
		}
	}
	return false
}
