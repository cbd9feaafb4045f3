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

// schema is a part of the schemas that the input may have.
type schema struct {
	path   string
	steps  []step
	values []cue.Value
	// expr is what a name stands for that is no part of the input, in its scope.
	expr ast.Expr
	in   scope
}

// to is the schema below at a step.
func (of schema) to(path string, s step, values ...cue.Value) schema {
	return schema{path: strings.TrimPrefix(of.path+path, "."), steps: append(slices.Clone(of.steps), s), values: values}
}

// element is the schema of what a list or a map holds.
func (of schema) element() (schema, bool) {
	for _, v := range of.values {
		for _, alt := range alternatives(v) {
			if alt.IncompleteKind() == cue.ListKind {
				values := elems(of.values)
				return of.to("[]", listItem, values...), len(values) > 0
			}
		}
	}
	for _, key := range sampleKeys(of.path) {
		if values := items(of.values, key); len(values) > 0 {
			return of.to("[]", step{key, true}, values...), true
		}
	}
	return schema{}, false
}

// items gives what maps hold under a key, where they take any like it.
func items(values []cue.Value, key string) []cue.Value {
	if all := elems(values); len(all) > 0 {
		return all
	}
	var all []cue.Value
	at := cue.MakePath(cue.Str(key))
	for _, v := range values {
		for _, alt := range alternatives(v) {
			if alt.IncompleteKind() != cue.StructKind || alt.LookupPath(cue.MakePath(cue.AnyString)).Exists() || hasFields(alt) || !alt.Allows(cue.Str(key)) {
				continue
			}
			// A pattern tells what it holds for a key alone.
			with := alt.Unify(cuecontext.New().BuildExpr(ast.NewStruct(ast.NewString(key), ast.NewIdent("_"))))
			if item := with.LookupPath(at); item.Exists() && item.Validate() == nil && item.IncompleteKind() != cue.TopKind {
				all = append(all, item)
			}
		}
	}
	return all
}

func hasFields(v cue.Value) bool {
	for range declared(v) {
		return true
	}
	return false
}

// step goes to a field, and tells one that no schema has.
func (s *selectors) step(of schema, name string, at ast.Node) (schema, bool) {
	to := of.to("."+name, step{field: name})
	known := map[string]bool{}
	for _, v := range of.values {
		alts := alternatives(v)
		for _, alt := range alts {
			if alt.IncompleteKind() == cue.TopKind {
				return schema{}, false // nothing is known
			}
			if alt.IncompleteKind()&cue.StructKind == 0 {
				if len(alts) > 1 {
					continue
				}
				return schema{}, false // CUE tells
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
	if len(to.values) > 0 {
		return to, true
	}
	if s.made[name] {
		return schema{}, false
	}
	message := "#Input has no " + strings.TrimPrefix(to.path, "spec.")
	if !strings.HasPrefix(to.path, "spec.") {
		message = "the input has no " + to.path
	}
	s.problems = append(s.problems, problem.Problem{
		Position: posOf(at.Pos()), Path: "input." + to.path, Rule: problem.RuleUnknown, Severity: s.level,
		Message: message + s.what, Hint: source.Hint(name, slices.Sorted(maps.Keys(known))),
	})
	return schema{}, false
}

// closed is a struct of a union as a definition has it: CUE gives those of a union
// without saying that they are closed.
func closed(v cue.Value) cue.Value {
	def := cue.MakePath(cue.Def("#X"))
	return cuecontext.New().CompileString("#X: _").FillPath(def, v).LookupPath(def)
}

// fieldOf gives a field, whether it has to be there or may be.
func fieldOf(v cue.Value, name string) cue.Value {
	if f := v.LookupPath(cue.MakePath(cue.Str(name))); f.Exists() {
		return f
	}
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

// alternatives takes disjunctions apart.
func alternatives(v cue.Value) []cue.Value {
	v = unbounded(v)
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

// unbounded takes off validators such as list.MinItems(1): what isn't complete is
// an error to them, of which CUE tells nothing else.
func unbounded(v cue.Value) cue.Value {
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
	return unbounded(rest[0])
}

// elems gives what lists and maps hold.
func elems(values []cue.Value) []cue.Value {
	var all []cue.Value
	for _, v := range values {
		for _, alt := range alternatives(v) {
			for _, sel := range []cue.Selector{cue.AnyIndex, cue.AnyString} {
				if e := alt.LookupPath(cue.MakePath(sel)); e.Exists() {
					all = append(all, e)
				}
			}
			// The value of a struct's fields, or of a tuple's, is one of several.
			if hasFields(alt) {
				return nil
			}
		}
	}
	return all
}

// madeNames are the names of fields that stand in comprehensions.
func madeNames(inst *build.Instance) map[string]bool {
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
