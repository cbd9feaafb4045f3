package render

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// decoder reads the output of a module, value by value, and gathers every
// problem at the line of the module's author. It decides what is in a graph's
// fields, not whether they make sense together: that is graph.Check.
type decoder struct {
	problems   problem.List
	nodes      []*decodedNode
	violations []finding
	output     cue.Value
	// unknown is where nothing is known, nil where everything has to be.
	unknown *unknowns
}

// decodedNode is one node with the value that it was read from.
type decodedNode struct {
	id     string
	value  cue.Value
	object map[string]any
	// names gives the author's name of a field that has two.
	names map[string]string
}

func (d *decoder) problem(v cue.Value, path, rule, hint, format string, args ...any) {
	d.problems = append(d.problems, problem.Problem{
		Position: cuesyntax.ValuePosition(v), Path: path, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// wrong reports a value that is an error of CUE, at the place that the module's
// author can mend.
func (d *decoder) wrong(v cue.Value, path string, err error) {
	if d.unknown != nil {
		d.unknown.open[placeKey(path)] = true
		return
	}
	for _, e := range cueerror.List(err) {
		p := problem.Problem{Path: path, Rule: problem.RuleModule, Message: cueerror.Message(e)}
		if path == "" {
			p.Path = cueerror.Path(e)
		}
		for _, at := range append(cueerrors.Positions(e), v.Pos()) {
			if p.Position = cuesyntax.Position(at); p.Position.File != "" {
				break
			}
		}
		d.problems = append(d.problems, p)
	}
}

// fields walks the regular fields of a struct; names holds those that may be
// there (nil: any).
func (d *decoder) fields(v cue.Value, path string, names []string, visit func(name string, v cue.Value)) {
	v, _ = v.Default()
	if err := v.Err(); err != nil && v.IncompleteKind() != cue.StructKind {
		d.wrong(v, path, err)
		if d.unknown == nil {
			return
		}
	}
	if d.unknown != nil && v.IncompleteKind() == cue.BottomKind {
		d.unknown.open[placeKey(path)] = true // of a struct that is another's CUE gives no error
	}
	it, err := v.Fields()
	if err != nil {
		if !d.may(v, cue.StructKind) {
			d.problem(v, path, problem.RuleGraph, "", "must be a struct, not %s", kindName(v))
			return
		}
		d.wrong(v, path, err)
		return
	}
	for it.Next() {
		if it.Selector().LabelType() != cue.StringLabel {
			continue // an item of a list that isn't wholly known
		}
		name := it.Selector().Unquoted()
		if names != nil && !contains(names, name) {
			d.problem(it.Value(), fieldpath.Join(path, name), problem.RuleUnknown, source.Hint(name, names), "unknown field")
			continue
		}
		visit(name, it.Value())
	}
}

// list walks the elements of a list.
func (d *decoder) list(v cue.Value, path string, visit func(path string, v cue.Value)) {
	v, _ = v.Default()
	it, err := v.List()
	if err != nil {
		if !d.may(v, cue.ListKind) {
			d.problem(v, path, problem.RuleGraph, "", "must be a list, not %s", kindName(v))
			return
		}
		d.wrong(v, path, err)
		return
	}
	for i := 0; it.Next(); i++ {
		visit(path+"["+strconv.Itoa(i)+"]", it.Value())
	}
}

// may says whether a value of which something is wrong is, for all that is
// known, of a kind.
func (d *decoder) may(v cue.Value, kind cue.Kind) bool {
	k := v.IncompleteKind()
	if d.unknown != nil {
		return k == cue.BottomKind || k&kind != 0
	}
	return k == kind || k == cue.BottomKind && kind == cue.ListKind
}

// text reads a string.
func (d *decoder) text(v cue.Value, path string) string {
	x := d.any(v, path, nil)
	s, ok := x.(string)
	if !ok && x != nil {
		d.problem(v, path, problem.RuleGraph, "", "must be a string, not %s", kindName(v))
	}
	return s
}

// texts reads a list of strings.
func (d *decoder) texts(v cue.Value, path string) []string {
	var all []string
	d.list(v, path, func(path string, v cue.Value) { all = append(all, d.text(v, path)) })
	return all
}

func kindName(v cue.Value) string {
	return v.IncompleteKind().String()
}

// any reads a value as JSON would hold it: map[string]any, []any, string,
// int64, float64, bool or nil. The late map gives expressions that stand in for
// values by path; those need not be concrete.
func (d *decoder) any(v cue.Value, path string, late *lateFields) any {
	if expr, ok := late.at(path); ok {
		return map[string]any{"$from": expr}
	}
	v, _ = v.Default()
	switch v.Kind() {
	case cue.NullKind:
		return nil
	case cue.BoolKind:
		b, err := v.Bool()
		if err != nil {
			d.wrong(v, path, err)
		}
		return b
	case cue.StringKind:
		s, err := v.String()
		if err != nil {
			d.wrong(v, path, err)
		}
		if d.unknown != nil && d.unknown.saysNothing(s) {
			return d.unknown.guess(v, path)
		}
		return s
	case cue.BytesKind:
		b, err := v.Bytes()
		if err != nil {
			d.wrong(v, path, err)
		}
		return base64.StdEncoding.EncodeToString(b)
	case cue.IntKind, cue.FloatKind, cue.NumberKind:
		return d.number(v, path)
	case cue.ListKind:
		list := []any{}
		d.list(v, path, func(path string, v cue.Value) { list = append(list, d.any(v, path, late)) })
		return list
	case cue.StructKind:
		return d.object(v, path, late)
	}
	if d.unknown != nil {
		return d.partly(v, path, late)
	}
	if err := v.Err(); err != nil {
		d.wrong(v, path, err)
		return nil
	}
	d.problem(v, path, problem.RuleModule, "", "incomplete value %v", v)
	return nil
}

func (d *decoder) object(v cue.Value, path string, late *lateFields) map[string]any {
	m := map[string]any{}
	d.fields(v, path, nil, func(name string, v cue.Value) {
		m[name] = d.any(v, fieldpath.Join(path, name), late)
	})
	if d.unknown != nil {
		d.unknown.reference(path, fieldpath.Join(path, reference.FromKey))
	}
	return m
}

func (d *decoder) number(v cue.Value, path string) any {
	if n, err := v.Int64(); err == nil {
		return n
	}
	f, err := v.Float64()
	switch {
	case err != nil && v.Kind() == cue.IntKind, err == nil && v.Kind() == cue.IntKind && math.Abs(f) >= 1<<63:
		d.problem(v, path, problem.RuleGraph, "", "%v does not fit into 64 bits", v)
	case err != nil:
		d.problem(v, path, problem.RuleGraph, "", "%v is not a number that JSON can hold", v)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// decodeInto reads a struct of plain fields, such as applyPolicy, into a Go
// value whose JSON fields are the known ones.
func (d *decoder) decodeInto(v cue.Value, path string, names []string, into any) {
	n := len(d.problems)
	m := map[string]any{}
	d.fields(v, path, names, func(name string, v cue.Value) { m[name] = d.any(v, fieldpath.Join(path, name), nil) })
	if len(d.problems) > n {
		return
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		d.problem(v, path, problem.RuleGraph, "", "%s", jsonMessage(err))
	}
}
