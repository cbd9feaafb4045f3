package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// RoundTrip converts a sample to the stored version and back, or a sample of the
// stored version to every other version and back, and reports the fields that are
// lost or changed. The API server does such round trips whenever a client reads
// or writes a version that is not stored. A message looks like this:
//
//	spec.size: v1beta1 → v1 → v1beta1: 3 became nothing
//
// A loss that the version accepts in its field loses isn't reported. A sample that
// the module refuses is reported as such and not converted.
func (r *Renderer) RoundTrip(in *Instance, p *Platform) problem.List {
	b := r.module(p.Module)
	data := in.data(p)
	version := in.Version()
	if _, problems := b.evaluate(data, p, version); problems.Failed() {
		return problems.Sorted()
	}
	spec := cuesyntax.Field(data, "spec").Value
	var problems problem.List
	for _, v := range p.Versions {
		switch {
		case v.Name == p.Version:
		case version == p.Version:
			problems = append(problems, b.roundTrip(p, spec, in, leg{v.Name, fromStorage}, leg{v.Name, toStorage})...)
		case v.Name == version:
			problems = append(problems, b.roundTrip(p, spec, in, leg{version, toStorage}, leg{version, fromStorage})...)
		}
	}
	return problems.Sorted()
}

// roundTrip converts a spec there and back, and compares it with the original. A
// conversion that fails is reported, and ends the round trip.
func (b *builtModule) roundTrip(p *Platform, spec ast.Expr, in *Instance, there, back leg) problem.List {
	from, to := there.versions(p)
	// Both ends of the comparison have defaults, so that a default which a
	// conversion adds is not a difference.
	start, problems := b.withDefaults(p.Schema(from), spec)
	if len(problems) > 0 {
		return problems
	}
	value := start
	for _, l := range []leg{there, back} {
		from, to := l.versions(p)
		value, problems = b.convert(l.version, l.conversion, p.Schema(from), cuesyntax.Data(value))
		if len(problems) == 0 {
			// The result must be a spec of its version, and has its defaults.
			value, problems = b.withDefaults(p.Schema(to), cuesyntax.Data(value))
		}
		for i := range problems {
			problems[i].Message = fmt.Sprintf("conversion from %s to %s: %s", from, to, problems[i].Message)
			problems[i].InstanceAt = in.Pos()
		}
		if len(problems) > 0 {
			return problems
		}
	}
	accepted := b.losesOf(there.version)
	var lost problem.List
	compare(start, value, "spec", func(path string, before, after any) {
		if accepted(path) {
			return
		}
		lost = append(lost, problem.Problem{
			Position: in.PosOf(path), Path: path, Rule: problem.RuleModule, Instance: in.String(),
			Message: fmt.Sprintf("%s → %s → %s: %s became %s", from, to, from, brief(before), brief(after)),
		})
	})
	return lost
}

// index matches the index of an item in a path.
var index = lazyregexp.New(`\[\d+\]`)

// losesOf returns a function that reports whether a version accepts the loss of a
// field of the stored version: it lists the field, or one around it. A list that
// lost some of its items has the path of the list.
func (b *builtModule) losesOf(version string) func(path string) bool {
	var def versionDef
	// The fields of #Versions were checked when the platform was made.
	if err := b.root.LookupPath(cue.MakePath(cue.Def("Versions"), cue.Str(version))).Decode(&def); err != nil {
		return func(string) bool { return false }
	}
	return func(path string) bool {
		path = index().ReplaceAllString(path, "[]")
		return slices.ContainsFunc(def.Loses, func(l string) bool {
			return path == l || strings.HasPrefix(path, l+".") || strings.HasPrefix(path, l+"[")
		})
	}
}

// absent stands for a field that does not exist. It differs from null.
type absent struct{}

// compare reports every path at which two decoded JSON values differ, fields in
// the order of their names. Lists of different lengths differ as a whole.
func compare(a, b any, path string, report func(path string, a, b any)) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for name := range x {
			names[name] = true
		}
		for name := range y {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			compare(member(x, name), member(y, name), fieldpath.Join(path, name), report)
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			compare(x[i], y[i], path+fieldpath.Index(i), report)
		}
		return
	}
	if brief(a) != brief(b) {
		report(path, a, b)
	}
}

// member returns a field, or absent.
func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

// brief returns a value as JSON, cut to the length that a message has room for.
func brief(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return source.Clip(string(data), 80)
}
