package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// structure reads the structs that v admits: one term, or one for each member of
// a disjunction. The steps: find the source of v, determine the members, read
// each as an object, mark the default, and apply the validators.
func (r *reader) structure(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	s := &sources{guarded: c}
	s.ways, _ = r.collect(in, v, v, s, false, 0)
	in, ok := r.enter(in, syntax.KeyOf(s.literals))
	if !ok {
		return shape.Any()
	}
	var members []cue.Value
	// Nothing is certain about a value that may be no struct.
	if !s.other {
		members = r.members(in, v, s)
	}
	// A rule can't tell to which member a guard belongs.
	if len(members) != 1 {
		for _, c := range s.conditions {
			in.put(c.notes...)
		}
		s.conditions = nil
	}
	if members == nil {
		for _, lit := range s.literals {
			share(in, lit)
		}
		for _, e := range r.expressions(v) {
			share(in, e)
		}
		if s.other {
			return shape.Any()
		}
		// The struct is known, but not its members, so any fields are admitted.
		in.note(v.Pos(), "the choice between structs")
		return shape.Shape{{Kind: shape.StructKind, Object: &shape.Object{Open: true, Unlisted: true}}}
	}
	inside := in
	inside.closers = r.closers(in, v)
	// The fault opens no definition that is referred to.
	inside.open = in.open && !isDefinition(v) || cuefault.OpenMatchedStructs && slices.ContainsFunc(s.calls, func(v cue.Value) bool { return kindsOfValue(v) == shape.TopKind })
	var out shape.Shape
	if len(members) > 1 {
		// Rules of outer structs can't be about a member.
		inside = inside.across(translate.Segment{Barrier: true})
		inside.closers = r.closers(in, v)
	}
	if r.isClosedChoice(v) && slices.ContainsFunc(members, func(m cue.Value) bool { return m.Allows(cue.AnyString) }) {
		in.note(v.Pos(), "that a struct has no other fields")
	}
	written := slices.DeleteFunc(slices.Clone(r.conjunctOf(v).args), func(a cue.Value) bool { return !r.conjunctOf(a).isStruct() })
	for i, m := range members {
		here := inside
		if r.conjunctOf(v).op == cue.OrOp && len(written) == len(members) {
			here.closers = append(slices.Clone(inside.closers), r.closers(context{}, written[i])...)
		}
		out = append(out, shape.Term{Kind: shape.StructKind, Object: r.object(m, here, s, len(members) > 1)})
	}
	if d, preferred := v.Default(); preferred {
		chosen := defaultMember(members, d)
		for i, t := range out {
			t.Object.Preferred, t.Object.IsDefault = true, i == chosen
		}
		if len(out) < s.ways && d.Validate(cue.Concrete(true)) != nil {
			// CUE takes the default although another member would fit.
			in.note(v.Pos(), "the choice between structs")
		}
	}
	if !shape.AreExclusive(out) && slices.ContainsFunc(out, func(t shape.Term) bool { return slices.ContainsFunc(out, t.CoveredBy) }) {
		// The union forgets the member that another one covers, but CUE doesn't.
		in.note(v.Pos(), "that one of %d structs alone is meant", len(out))
	}
	out = shape.Union(out)
	for _, call := range s.calls {
		out = shape.Intersect(out, r.leaf(r.conjunctOf(call), in, c))
	}
	return out
}

// alternatives reads a disjunction as the union of its members. Structs are read
// together, because their fields are merged; all other members are read one by
// one.
func (r *reader) alternatives(v conjunct, in context, c *syntax.Guarded) shape.Shape {
	var members []shape.Shape
	structs := false
	for _, m := range v.args {
		if chosen, ok := r.lookedUp(r.conjunctOf(m), in); ok {
			members = append(members, chosen)
			continue
		}
		if r.conjunctOf(m).isStruct() {
			structs = true
			continue
		}
		members = append(members, r.shape(m, in.across(translate.Segment{Barrier: true}), c))
	}
	if structs {
		s := r.structure(v.Value, in, c)
		if r.dependsOnInput(v) {
			// The other field supplies what this one requires.
			s = s.Relaxed()
		}
		members = append(members, s)
	}
	if d := coveredList(v.Value, len(v.args)); d.Exists() {
		members = append(members, r.list(d, nil, in.across(translate.Segment{Barrier: true})))
	}
	return shape.Union(members...)
}

// object reads one struct, which s describes. Member means that it is a member of
// a disjunction; then it is kept even if one of its fields admits nothing. The
// steps: open a frame for rules, let the parts that hold only for some input wait
// in it, read the fields and patterns, add the fields that only guards declare,
// and finish the frame.
func (r *reader) object(v cue.Value, in context, s *sources, member bool) *shape.Object {
	o, c := &shape.Object{}, s.guarded
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		in.note(v.Pos(), "%s", sourceText(v))
		return &shape.Object{Open: true, Unlisted: true}
	}
	in, frame := in.push(s.literals, c)
	for _, name := range s.parameters {
		// A reference leads to one declaration, so the values of the others are
		// shared here.
		declared, guarded := s.declarations(name), c.Exprs(name)
		if len(declared)+len(guarded) < 2 {
			continue
		}
		for _, f := range declared {
			share(in, f.Value)
		}
		for _, e := range guarded {
			share(in, e)
		}
	}
	r.checkParameters(v, in, s)
	// Finish needs all fields, so it comes last.
	defer func() { in.put(frame.Finish(o, static{r, in})...) }()
	for _, c := range s.conditions {
		if c.comprehension != nil {
			share(in, c.comprehension)
		}
		if c.comprehension == nil || !in.wait(translate.Pending{Comprehension: c.comprehension, Notes: c.notes}, c.comprehension) {
			in.put(c.notes...)
		}
	}
	var patterns []pattern
	for it.Next() {
		if it.FieldType()&cue.PatternConstraint != 0 {
			patterns = append(patterns, pattern{key: it.Selector().Pattern(), value: it.Value()})
			continue
		}
		// Definitions and hidden fields are no fields of an instance.
		if !it.Selector().IsString() {
			continue
		}
		if it.FieldType()&cue.OptionalConstraint != 0 && !c.Touches(it.Selector().Unquoted()) && r.excludes(in.closers, it.Selector().Unquoted(), in) {
			continue
		}
		here := in
		if here.pos = s.position(it.Selector().Unquoted()); !here.pos.IsValid() {
			here.pos = it.Value().Pos()
		}
		if len(s.declarations(it.Selector().Unquoted())) > 0 || !r.onlyGuarded(in, it, c) {
			o.Fields = append(o.Fields, r.field(it, here, s, member))
		}
	}
	slices.SortFunc(o.Fields, func(f, g shape.Field) int { return strings.Compare(f.Name, g.Name) })
	// Guards that may add anything leave the struct open.
	o.Open = c != nil && (c.Open || c.Deep)
	o.Unlisted = o.Open
	r.rest(o, v, patterns, in)
	if !o.Open && o.Values == nil {
		// A closed struct rejects fields that can't be present without listing
		// them.
		o.Fields = slices.DeleteFunc(o.Fields, func(f shape.Field) bool { return len(f.Shape) == 0 })
	}
	if c != nil && c.Attributed.IsValid() {
		r.fail(errors.Newf(c.Attributed, "%s: @%s: an attribute can't depend on a condition", in.path, syntax.AttributeName))
	}
	// These fields are in the bodies of ifs only, so CUE's evaluation doesn't
	// list them.
	for _, name := range c.Names() {
		if len(s.declarations(name)) > 0 && !o.Open {
			continue // it is listed, or can't be present
		}
		if o.Lookup(name) != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		i, _ := slices.BinarySearchFunc(o.Fields, name, shape.ByName)
		o.Fields = slices.Insert(o.Fields, i, shape.Field{
			Name: name, Shape: r.guardedShape(in, c.Fields[name], o.Open || o.Values != nil), Optional: true, Guarded: true, Pos: positionOf(c.Fields[name][0].Pos()),
			GuardFills: len(c.Fields[name]) > 1 && !syntax.AllBound(c.Fields[name]),
		})
	}
	return o
}
