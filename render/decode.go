package render

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// decoder reads the output of a module value by value and collects every problem
// at the line of the module's author. It checks the form of each field;
// graph.Check then checks whether the fields make sense together.
//
// With unknown set, the decoder reads an output that is only partly known, as
// [CheckPartial] does. Values that are not concrete are then recorded in unknown
// and are not problems.
//
// Its methods take a value and its path in messages. A method that reports a
// problem returns the zero value or as much as it could read, and its caller goes
// on, so that one rendering reports every mistake.
type decoder struct {
	problems problem.List
	nodes    []*decodedNode
	// found are the violations that the module itself reports.
	found []violation
	// adopted are the existing objects that the graph may take over, or nil.
	adopted *v1alpha1.Adopt
	// output is #Render.output, where positions of the whole graph are looked up.
	output cue.Value
	// actions are the defaults of Actions.
	actions actionDefaults
	// instance is the file of an instance whose positions positionOf leaves out, or "".
	instance string
	unknown  *unknowns // nil if everything must be known
}

// decodedNode is a node with the value that it was read from.
type decodedNode struct {
	id    string
	value cue.Value
	// object is the resource as JSON, or nil.
	object map[string]any
	// legacy maps present names of fields to the legacy names that the author
	// used.
	legacy map[string]string
	// action is set if the author wrote the field action in place of a resource.
	action bool
}

// problem reports a problem of a value at the line where the author wrote it.
func (d *decoder) problem(v cue.Value, path, rule, hint, format string, args ...any) {
	d.problems = append(d.problems, problem.Problem{
		Position: cuesyntax.ValuePosition(v), Path: path, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// addCUEError reports a value that is an error of CUE. If path is "", the path is
// that of the error. The position is the first one that CUE knows, else that of
// the value. In an output that is partly known, the path is only noted as open.
func (d *decoder) addCUEError(v cue.Value, path string, err error) {
	if d.unknown != nil {
		d.unknown.addOpen(path)
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

// fields visits the regular fields of a struct. names are the allowed names; nil
// allows any. A field that is not allowed is a problem and is not visited.
func (d *decoder) fields(v cue.Value, path string, names []string, visit func(name string, v cue.Value)) {
	v, _ = v.Default()
	// Err allocates a context of CUE, so it is asked only if the answer matters.
	if v.IncompleteKind() != cue.StructKind {
		if err := v.Err(); err != nil {
			d.addCUEError(v, path, err)
			if d.unknown == nil {
				return
			}
		}
	}
	if d.unknown != nil && v.IncompleteKind() == cue.BottomKind {
		// For a reference to an incomplete struct CUE reports no error.
		d.unknown.addOpen(path)
	}
	it, err := v.Fields()
	if err != nil {
		if !d.mayBe(v, cue.StructKind) {
			d.problem(v, path, problem.RuleGraph, "", "must be a struct, not %s", kindName(v))
			return
		}
		d.addCUEError(v, path, err)
		return
	}
	for it.Next() {
		if it.Selector().LabelType() != cue.StringLabel {
			continue // an item of a list that is only partly known
		}
		name := it.Selector().Unquoted()
		if names != nil && !slices.Contains(names, name) {
			d.problem(it.Value(), fieldpath.Join(path, name), problem.RuleUnknown, source.Hint(name, names), "unknown field")
			continue
		}
		visit(name, it.Value())
	}
}

// list visits the items of a list, each with its path.
func (d *decoder) list(v cue.Value, path string, visit func(path string, v cue.Value)) {
	v, _ = v.Default()
	it, err := v.List()
	if err != nil {
		if !d.mayBe(v, cue.ListKind) {
			d.problem(v, path, problem.RuleGraph, "", "must be a list, not %s", kindName(v))
			return
		}
		d.addCUEError(v, path, err)
		return
	}
	for i := 0; it.Next(); i++ {
		visit(path+fieldpath.Index(i), it.Value())
	}
}

// mayBe reports whether a value with an error can be of a kind. If so, the
// error is about its content.
func (d *decoder) mayBe(v cue.Value, kind cue.Kind) bool {
	k := v.IncompleteKind()
	if d.unknown != nil {
		return k == cue.BottomKind || k&kind != 0
	}
	return k == kind || k == cue.BottomKind && kind == cue.ListKind
}

// string reads a string.
func (d *decoder) string(v cue.Value, path string) string {
	x := d.value(v, path, nil)
	s, ok := x.(string)
	if !ok && x != nil {
		d.problem(v, path, problem.RuleGraph, "", "must be a string, not %s", kindName(v))
	}
	return s
}

// strings reads a list of strings.
func (d *decoder) strings(v cue.Value, path string) []string {
	var all []string
	d.list(v, path, func(path string, v cue.Value) { all = append(all, d.string(v, path)) })
	return all
}

// kindName returns the kinds of a value as CUE names them.
func kindName(v cue.Value) string { return v.IncompleteKind().String() }

// value reads a value as decoded JSON: map[string]any, []any, string, int64,
// float64, bool or nil. A value whose path is in from is replaced by a late
// reference, and need not be concrete. from may be nil. A disjunction has the
// value of its default, and bytes are base64 text, as in CUE's own JSON.
func (d *decoder) value(v cue.Value, path string, from *fromFields) any {
	if expr, ok := from.take(path); ok {
		return map[string]any{reference.FromKey: expr}
	}
	v, _ = v.Default()
	switch v.Kind() {
	case cue.NullKind:
		return nil
	case cue.BoolKind:
		b, err := v.Bool()
		if err != nil {
			d.addCUEError(v, path, err)
		}
		return b
	case cue.StringKind:
		s, err := v.String()
		if err != nil {
			d.addCUEError(v, path, err)
		}
		if d.unknown != nil && d.unknown.isPlaceholder(s) {
			return d.unknown.add(v, path)
		}
		return s
	case cue.BytesKind:
		b, err := v.Bytes()
		if err != nil {
			d.addCUEError(v, path, err)
		}
		return base64.StdEncoding.EncodeToString(b)
	case cue.IntKind, cue.FloatKind, cue.NumberKind:
		return d.number(v, path)
	case cue.ListKind:
		list := []any{}
		d.list(v, path, func(path string, v cue.Value) { list = append(list, d.value(v, path, from)) })
		return list
	case cue.StructKind:
		return d.object(v, path, from)
	}
	if d.unknown != nil {
		return d.unknownValue(v, path, from)
	}
	if err := v.Err(); err != nil {
		d.addCUEError(v, path, err)
		return nil
	}
	d.problem(v, path, problem.RuleModule, "", "incomplete value %v", v)
	return nil
}

// unknownValue reads a value that is not concrete. It may be a struct with some
// known fields.
func (d *decoder) unknownValue(v cue.Value, path string, from *fromFields) any {
	it, err := v.Fields()
	if err != nil || !d.mayBe(v, cue.StructKind) || it.Next() && it.Selector().LabelType() != cue.StringLabel {
		return d.unknown.add(v, path)
	}
	return d.object(v, path, from)
}

// object reads a struct. Hidden fields and definitions are not part of it.
func (d *decoder) object(v cue.Value, path string, from *fromFields) map[string]any {
	m := map[string]any{}
	d.fields(v, path, nil, func(name string, v cue.Value) {
		m[name] = d.value(v, fieldpath.Join(path, name), from)
	})
	if d.unknown != nil {
		d.unknown.addReference(path, fieldpath.Join(path, reference.FromKey))
	}
	return m
}

// number reads a number as the API server would: as int64 if it is integral. So
// 2.0 and 2 render the same, and the graph does not change when it was stored and
// read again.
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
	// A float64 holds every integer below 2^53.
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// decodeInto reads a struct, such as applyPolicy, into a Go value by its JSON
// tags. names are the allowed fields. If a field has a problem, the Go value is
// not changed.
func (d *decoder) decodeInto(v cue.Value, path string, names []string, into any) {
	n := len(d.problems)
	m := map[string]any{}
	d.fields(v, path, names, func(name string, v cue.Value) { m[name] = d.value(v, fieldpath.Join(path, name), nil) })
	if len(d.problems) > n {
		return
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		d.problem(v, path, problem.RuleGraph, "", "%s", typeErrorMessage(err))
	}
}

// typeErrorMessage words a type error of encoding/json like the messages of
// this package.
func typeErrorMessage(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("%s: must be %s, not %s", t.Field, t.Type, t.Value)
	}
	return err.Error()
}

// positionOf returns the position of a path in a node as its author knows it:
// that of the innermost value that the module spells out. Without a node, the
// path starts at the output.
func (d *decoder) positionOf(id, path string) problem.Position {
	v := d.output
	var legacy map[string]string
	if n := d.nodeOf(id); n != nil {
		v, legacy = n.value, n.legacy
	}
	at := cuesyntax.ValuePosition(v)
	for i, part := range fieldpath.Split(d.authored(id, path)) {
		if name, ok := legacy[part]; ok && i == 0 {
			part = name
		}
		next := v.LookupPath(cue.MakePath(cue.Str(part)))
		if n, err := strconv.Atoi(part); err == nil && v.IncompleteKind() == cue.ListKind {
			next = v.LookupPath(cue.MakePath(cue.Index(n)))
		}
		if !next.Exists() {
			break
		}
		v = next
		if p := cuesyntax.ValuePosition(v); p.File != "" && p.File != d.instance {
			at = p
		}
	}
	return at
}

// nodeOf returns the last node with an id, or nil.
func (d *decoder) nodeOf(id string) *decodedNode {
	var found *decodedNode
	for _, n := range d.nodes {
		if n.id == id && id != "" {
			found = n
		}
	}
	return found
}

// positions returns the positions of all nodes in the module, by their ids.
func (d *decoder) positions() map[string]problem.Position {
	at := make(map[string]problem.Position, len(d.nodes))
	for _, n := range d.nodes {
		at[n.id] = d.positionOf(n.id, "resource")
	}
	return at
}
