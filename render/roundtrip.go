package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// RoundTrip converts a sample to the stored version and back, or a sample of the
// stored version to every other one and back, and reports what is lost or
// changed on the way. The API server does such trips whenever somebody reads or
// writes another version than the stored one.
func (r *Renderer) RoundTrip(in *Instance, p *Platform) problem.List {
	b := r.module(p.Module)
	data := in.data(p)
	version := in.Version()
	if _, problems := b.input(data, p, version); problems.Failed() {
		return problems.Sorted()
	}
	spec := cuesyntax.Field(data, "spec").Value
	var problems problem.List
	for _, v := range p.Versions {
		switch {
		case v.Name == p.Version:
		case version == p.Version:
			problems = append(problems, b.trip(p, spec, in, leg{v.Name, fromStorage}, leg{v.Name, toStorage})...)
		case v.Name == version:
			problems = append(problems, b.trip(p, spec, in, leg{version, toStorage}, leg{version, fromStorage})...)
		}
	}
	return problems.Sorted()
}

// leg is one conversion of a trip.
type leg struct{ version, conversion string }

func (l leg) ends(p *Platform) (from, to string) {
	if l.conversion == toStorage {
		return l.version, p.Version
	}
	return p.Version, l.version
}

// trip goes there and back, and compares.
func (b *built) trip(p *Platform, spec ast.Expr, in *Instance, there, back leg) problem.List {
	from, to := there.ends(p)
	start, problems := b.settled(p.Schema(from), spec)
	if len(problems) > 0 {
		return problems
	}
	value := start
	for _, l := range []leg{there, back} {
		from, to := l.ends(p)
		value, problems = b.convert(l.version, l.conversion, p.Schema(from), cuesyntax.Data(value))
		if len(problems) == 0 {
			// What comes out has to be a spec of the version, and gets its defaults.
			value, problems = b.settled(p.Schema(to), cuesyntax.Data(value))
		}
		for i := range problems {
			problems[i].Message = fmt.Sprintf("conversion from %s to %s: %s", from, to, problems[i].Message)
			problems[i].InstanceAt = in.Pos()
		}
		if len(problems) > 0 {
			return problems
		}
	}
	var lost problem.List
	differences(start, value, "spec", func(path string, was, is any) {
		lost = append(lost, problem.Problem{
			Position: in.PosOf(path), Path: path, Rule: problem.RuleModule, Instance: in.String(),
			Message: fmt.Sprintf("%s → %s → %s: %s became %s", from, to, from, brief(was), brief(is)),
		})
	})
	return lost
}

// absent stands for a field that isn't there.
type absent struct{}

// differences reports every place at which two values differ.
func differences(a, b any, path string, report func(path string, a, b any)) {
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
			differences(member(x, name), member(y, name), fieldpath.Join(path, name), report)
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			differences(x[i], y[i], path+fieldpath.Index(i), report)
		}
		return
	}
	if brief(a) != brief(b) {
		report(path, a, b)
	}
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func brief(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(data))
}
