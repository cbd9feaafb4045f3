package crdgen

import (
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// list writes lists. A schema has one type for all items. So the items have the
// envelope of all items of all lists in s, and rules narrow it. For [int, string]
// the items are integers or strings, there are exactly two, and a rule gives the
// type of each.
func (w writer) list(out *props, s shape.Shape, p location) {
	out.Type = "array"
	sum := shape.EnvelopeOfLists(s)
	out.MinItems, out.MaxItems = sum.Min, sum.Max
	at := p.in("[]", problem.Position{})
	alone := sum.Alike && len(s) == 1
	at.defaults, at.chosen = p.defaults && alone, p.chosen || !alone
	schema := w.schema(sum.Items, at)
	out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema}

	set := len(s) == 1 && s[0].List.Unique && !p.bare && isSetItem(sum.Items)
	if set {
		out.XListType = new("set")
		if schema.Type == "object" {
			out.Items.Schema.XMapType = new("atomic")
		}
	}
	if len(s) == 1 && sum.Alike && (set || !s[0].List.Unique) {
		return
	}
	if w.alternatives(out, s, sum) {
		return
	}
	if w.listRules(out, s, sum, set, p) {
		return
	}
	switch {
	case len(s) > 1:
		w.notes.add(p.pos, p.path, "the choice between lists")
	case !sum.Alike:
		w.notes.add(p.pos, p.path, "which item takes which value")
	}
	if len(s) == 1 && s[0].List.Unique && !set {
		w.notes.add(p.pos, p.path, "list.UniqueItems()")
	}
}

// listRules writes what only CEL can express. The demands of a single list
// become several rules, so that an API server that finds one of them too
// expensive still has the others. It reports whether the rules say everything.
func (w writer) listRules(out *props, s shape.Shape, sum shape.ListEnvelope, set bool, p location) bool {
	if p.bare || !cel.IsAccessible(s) {
		return false
	}
	var members []cel.Predicate
	for _, t := range s {
		l := *t.List
		l.Unique = l.Unique && !set
		if len(s) > 1 {
			members = append(members, cel.HoldsList(&l, sum, "self"))
			continue
		}
		all := cel.ListDemands(&l, sum, "self")
		cheap := cel.AllOf(all[:min(len(l.Prefix), len(all))]...)
		ok := w.rule(out, p, cheap, listMessage(s))
		for _, q := range all[min(len(l.Prefix), len(all)):] {
			ok = w.rule(out, p, q, listMessage(s)) && ok
		}
		return ok
	}
	return w.rule(out, p, cel.AnyOf(members...), listMessage(s))
}

// alternatives writes a choice between lists of scalars, if the items of each
// list are all alike. It reports false for any other choice. For [...string] |
// [...int] each member has the constraints of its items.
func (w writer) alternatives(out *props, s shape.Shape, sum shape.ListEnvelope) bool {
	var members []props
	for _, t := range s {
		if len(t.List.Prefix) > 0 || t.List.Unique || t.List.Closed && t.List.Max == nil {
			return false
		}
		m := props{}
		if t.List.Min != nil && (sum.Min == nil || *sum.Min != *t.List.Min) {
			m.MinItems = t.List.Min
		}
		if t.List.Max != nil && (sum.Max == nil || *sum.Max != *t.List.Max) {
			m.MaxItems = t.List.Max
		}
		if !t.List.Closed && !t.List.Rest.Equal(sum.Items) {
			item, ok := narrowed(t.List.Rest, sum.Items)
			if !ok {
				return false
			}
			m.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
		}
		if isEmpty(m) {
			return false
		}
		members = append(members, m)
	}
	if len(members) < 2 {
		return false
	}
	conjoin(out, props{AnyOf: members})
	return true
}

// listMessage returns the message of the rules about lists.
func listMessage(s shape.Shape) string {
	switch {
	case len(s) > 1:
		return "must be one of the lists that the schema describes"
	case s[0].List.Unique:
		return "must not hold an item twice"
	}
	return "each item must be what the schema says for its place"
}

// isSetItem reports whether an API server compares the items of a set as CUE
// does. For a set the API server rejects equal items, and applies it item by
// item.
func isSetItem(s shape.Shape) bool {
	switch shape.KindsOf(s) {
	case shape.StringKind, shape.IntKind, shape.BoolKind:
		return true
	case shape.StructKind:
		return len(s) == 1 && cel.HasExactEquality(s)
	}
	return false
}
