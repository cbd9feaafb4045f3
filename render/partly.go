package render

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Partly says what is wrong with a graph of which only a part is known: with the
// output of #Render for an input whose values aren't all given. What could only
// be wrong because of a value that isn't known is not told, nor is a graph
// judged whose violations refuse the instance. Strings that are there only so
// that there is something are told by the function.
func Partly(output cue.Value, saysNothing func(string) bool) problem.List {
	d := &decoder{unknown: &unknowns{saysNothing: saysNothing, values: map[string]bool{}, open: map[string]bool{}}}
	g := d.graph(output)
	if slices.ContainsFunc(d.violations, func(f finding) bool { return f.Severity == v1alpha1.SeverityError }) {
		return nil
	}
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace = "default"
	rg.Spec.Graph = *g
	found := d.problems
	for _, q := range graph.Check(rg) {
		found = append(found, q.At(d.place(q.Node, q.Field)))
	}
	return slices.DeleteFunc(found, d.unknown.hide)
}

// unknowns are the places of what isn't known of a graph.
type unknowns struct {
	saysNothing func(string) bool
	// values are those of scalars, open those of structs and lists that may hold
	// more than what is known.
	values, open map[string]bool
}

// partly reads a value that isn't wholly known.
func (d *decoder) partly(v cue.Value, path string, late *lateFields) any {
	it, err := v.Fields()
	if err != nil || !d.may(v, cue.StructKind) || it.Next() && it.Selector().LabelType() != cue.StringLabel {
		return d.unknown.guess(v, path)
	}
	return d.object(v, path, late)
}

// guess gives what stands for a value that isn't known: a string that nothing
// else equals where it may be a string, and else nothing.
func (u *unknowns) guess(v cue.Value, path string) any {
	u.values[placeKey(path)] = true
	k := v.IncompleteKind()
	if k == cue.BottomKind || k&(cue.StructKind|cue.ListKind) != 0 {
		u.open[placeKey(path)] = true
	}
	if k != cue.BottomKind && k&cue.StringKind == 0 {
		return nil
	}
	return "unknown-" + strconv.Itoa(len(u.values))
}

// reference notes that a late reference isn't known: problems of an expression
// have the path of what it stands for.
func (u *unknowns) reference(path, expr string) {
	if u.values[placeKey(expr)] {
		u.open[placeKey(path)] = true
	}
}

// hide says whether a problem may come from what isn't known: it lies there, or
// in what a part may be missing from.
func (u *unknowns) hide(p problem.Problem) bool {
	at := placeKey(p.Path)
	node := nodeKey(p.Path)
	switch {
	case p.Rule == problem.RuleUnknown:
		return false // it is there
	case u.values[at] || u.open[at] || u.open[parentKey(at)]:
		return true
	case strings.HasPrefix(p.Message, "no node "):
		return u.open["nodes"] || u.open[""]
	case strings.HasPrefix(p.Message, "$generate "):
		policy := node + keySep + "applyPolicy"
		return u.open[node] || u.open[policy] || u.values[policy] || u.values[policy+keySep+"mode"] || u.values[node+keySep+"resource"+keySep+"kind"]
	}
	for open := range u.open {
		if open != "" && parentKey(open) == at {
			return true
		}
	}
	return false
}

const keySep = "\x00"

// placeKey writes a path so that the two names of a field are one.
func placeKey(path string) string {
	parts := fieldpath.Split(path)
	if len(parts) > 2 && parts[0] == "nodes" {
		if now, old := newNames[parts[2]]; old {
			parts[2] = now
		}
	}
	return strings.Join(parts, keySep)
}

func parentKey(key string) string {
	i := strings.LastIndex(key, keySep)
	return key[:max(i, 0)]
}

// nodeKey gives the key of the node that a path lies in.
func nodeKey(path string) string {
	parts := fieldpath.Split(path)
	return strings.Join(parts[:min(2, len(parts))], keySep)
}
