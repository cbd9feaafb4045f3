package vet

import (
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/pequod-io/pequod/internal/source"
)

// schema is the part of the input's schema that an expression refers to. It is
// the result of resolving an expression such as input.spec.ports[0].name: path is
// spec.ports[].name, and values holds the constraint of name.
//
// A schema is either a part of the input, with values, or a name that is bound to
// some other expression, with expr and in.
type schema struct {
	// path is the path in the input for messages, such as spec.ports[].
	path string
	// wantPath is the path of a sample value that satisfies the schema.
	wantPath []element
	// values are the schemas at the path. There are several if the path goes
	// through a disjunction, or if a policy is checked against several platforms.
	values []cue.Value
	// expr is set instead for a name that is bound to an expression which is not
	// part of the input; in has the bindings of that expression.
	expr ast.Expr
	in   bindings
}

// below returns the schema of a field or item. path is appended to the path for
// messages, and e to the path for samples.
func (of schema) below(path string, s element, values ...cue.Value) schema {
	return schema{path: strings.TrimPrefix(of.path+path, "."), wantPath: append(slices.Clone(of.wantPath), s), values: values}
}

// item returns the schema of the items of a list or map, and false if it is
// unknown. For a map, the path for samples uses a key that the map accepts: one
// of sampleKeys.
func (of schema) item() (schema, bool) {
	for _, v := range of.values {
		for _, alt := range alternatives(v) {
			if alt.IncompleteKind() == cue.ListKind {
				values := declaredItems(of.values)
				return of.below("[]", listItem, values...), len(values) > 0
			}
		}
	}
	for _, key := range sampleKeys(of.path) {
		if values := patternItems(of.values, key); len(values) > 0 {
			return of.below("[]", element{key, true}, values...), true
		}
	}
	return schema{}, false
}

// patternItems returns the schemas of the items that maps hold under key. A map
// without regular fields may constrain its keys by a pattern, so the lookup needs a
// key that the pattern accepts.
func patternItems(values []cue.Value, key string) []cue.Value {
	// A map without a constraint on its keys, {[string]: T}, needs no key.
	if all := declaredItems(values); len(all) > 0 {
		return all
	}
	var all []cue.Value
	at := cue.MakePath(cue.Str(key))
	for _, v := range values {
		for _, alt := range alternatives(v) {
			if alt.IncompleteKind() != cue.StructKind || alt.LookupPath(cue.MakePath(cue.AnyString)).Exists() || hasFields(alt) || !alt.Allows(cue.Str(key)) {
				continue
			}
			// CUE applies a pattern constraint only to an actual key.
			with := alt.Unify(cuecontext.New().BuildExpr(ast.NewStruct(ast.NewString(key), ast.NewIdent("_"))))
			if item := with.LookupPath(at); item.Exists() && item.Validate() == nil && item.IncompleteKind() != cue.TopKind {
				all = append(all, item)
			}
		}
	}
	return all
}

// hasFields reports whether a schema names any fields.
func hasFields(v cue.Value) bool {
	for range declared(v) {
		return true
	}
	return false
}

// field returns the schema of a field, and reports a problem at the given node if
// no schema has the field. It returns false without a problem if the field cannot
// be resolved.
//
// A field of a disjunction exists if one alternative has it. The problem
// therefore lists as candidates for a typo the fields of all alternatives.
func (s *inputWalker) field(of schema, name string, at ast.Node) (schema, bool) {
	to := of.below("."+name, element{field: name})
	known := map[string]bool{}
	for _, v := range of.values {
		alts := alternatives(v)
		for _, alt := range alts {
			if alt.IncompleteKind() == cue.TopKind {
				return schema{}, false // anything may be below
			}
			if alt.IncompleteKind()&cue.StructKind == 0 {
				if len(alts) > 1 {
					continue
				}
				return schema{}, false // evaluation reports the error
			}
			if len(alts) > 1 {
				alt = closed(alt)
			}
			if f := fieldOf(alt, name); f.Exists() {
				to.values = append(to.values, f)
				continue
			}
			if alt.Allows(cue.Str(name)) {
				return schema{}, false
			}
			for field := range declared(alt) {
				known[field.name] = true
			}
		}
	}
	// One schema that has the field is enough: the other alternatives, or the
	// other platforms of a policy, may lack it.
	if len(to.values) > 0 {
		return to, true
	}
	if s.conditional[name] {
		return schema{}, false
	}
	// Only fields of spec come from #Input. The rest of the input, such as
	// metadata, belongs to every module.
	message := "#Input has no " + strings.TrimPrefix(to.path, "spec.")
	if !strings.HasPrefix(to.path, "spec.") {
		message = "the input has no " + to.path
	}
	s.problems = append(s.problems, problem.Problem{
		Position: posOf(at.Pos()), Path: "input." + to.path, Rule: problem.RuleUnknown, Severity: s.severity,
		Message: message + s.suffix, Hint: source.Hint(name, slices.Sorted(maps.Keys(known))),
	})
	return schema{}, false
}

// closed returns a struct of a disjunction as a closed struct. CUE returns the
// structs of a disjunction in a definition without their closedness.
func closed(v cue.Value) cue.Value {
	def := cue.MakePath(cue.Def("#X"))
	return cuecontext.New().CompileString("#X: _").FillPath(def, v).LookupPath(def)
}

// fieldOf returns a required, regular or optional field of a schema. The result
// does not exist if the schema has no such field.
func fieldOf(v cue.Value, name string) cue.Value {
	if f := v.LookupPath(cue.MakePath(cue.Str(name))); f.Exists() {
		return f
	}
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

// alternatives returns the operands of nested disjunctions, or the value itself.
// For *"a" | ("b" | int) it returns "a", "b" and int.
func alternatives(v cue.Value) []cue.Value {
	v = withoutValidators(v)
	op, args := v.Expr()
	if op != cue.OrOp {
		return []cue.Value{v}
	}
	var all []cue.Value
	for _, a := range args {
		all = append(all, alternatives(a)...)
	}
	return all
}

// withoutValidators removes validators such as list.MinItems(1) from a
// conjunction that is an error only because of them: a validator fails for an
// incomplete value, and CUE then returns nothing about the rest. A conjunction of
// nothing but validators, or without any, is returned unchanged.
func withoutValidators(v cue.Value) cue.Value {
	op, args := v.Expr()
	if op != cue.AndOp || v.IncompleteKind() != cue.BottomKind {
		return v
	}
	var rest []cue.Value
	for _, a := range args {
		if op, _ := a.Expr(); op != cue.CallOp {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 || len(rest) == len(args) {
		return v
	}
	for _, a := range rest[1:] {
		rest[0] = rest[0].Unify(a)
	}
	return withoutValidators(rest[0])
}

// declaredItems returns the item schemas of lists and maps. It returns nil if a
// value also has regular fields, because then an item may be one of those.
func declaredItems(values []cue.Value) []cue.Value {
	var all []cue.Value
	for _, v := range values {
		for _, alt := range alternatives(v) {
			for _, sel := range []cue.Selector{cue.AnyIndex, cue.AnyString} {
				if e := alt.LookupPath(cue.MakePath(sel)); e.Exists() {
					all = append(all, e)
				}
			}
			// An item may be any of the fields, each with a schema of its own.
			if hasFields(alt) {
				return nil
			}
		}
	}
	return all
}

// conditionalNames returns the names of the fields in comprehensions. They exist
// only for some inputs, so the schema does not have them. The names are collected
// regardless of where they occur: a few missed typos are better than a false
// problem.
func conditionalNames(inst *build.Instance) map[string]bool {
	names := map[string]bool{}
	for _, f := range inst.Files {
		ast.Walk(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.Comprehension); ok {
				ast.Walk(c.Value, func(n ast.Node) bool {
					if f, ok := n.(*ast.Field); ok {
						if name, ok := labelName(f.Label); ok {
							names[name] = true
						}
					}
					return true
				}, nil)
			}
			return true
		}, nil)
	}
	return names
}
