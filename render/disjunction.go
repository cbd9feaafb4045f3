package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/nearest"
)

// alternatives gives the branches of a disjunction that are left of it, in the
// author's order where that is known, and a single value for anything else. A
// default that another branch takes too isn't one of them.
func alternatives(v cue.Value) []cue.Value {
	op, args := v.Eval().Expr()
	if op != cue.OrOp {
		if op == cue.NoOp && len(args) == 1 && v.IncompleteKind() != cue.BottomKind {
			if _, has := v.Default(); has && !v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
				return args
			}
		}
		return []cue.Value{v}
	}
	sortByPlace(args)
	return args
}

// sortByPlace puts values of one file into the author's order; CUE has defaults
// first.
func sortByPlace(values []cue.Value) {
	slices.SortStableFunc(values, func(a, b cue.Value) int {
		p, q := a.Pos(), b.Pos()
		if p.Filename() == "" || p.Filename() != q.Filename() {
			return 0
		}
		return p.Offset() - q.Offset()
	})
}

// kindsOf gives the kinds that a schema takes. That of a list with a rule about
// its length is unknown to CUE as long as there is no list.
func kindsOf(v cue.Value) cue.Kind {
	if k := v.IncompleteKind(); k != cue.BottomKind {
		return k
	}
	op, args := v.Expr()
	switch {
	case op == cue.AndOp:
		k := cue.TopKind
		for _, a := range args {
			if part := kindsOf(a); part != cue.BottomKind {
				k &= part
			}
		}
		return k
	case op == cue.OrOp:
		var k cue.Kind
		for _, a := range args {
			k |= kindsOf(a)
		}
		return k
	case op == cue.NoOp && len(args) == 1 && args[0] != v:
		if op, _ := args[0].Expr(); op == cue.AndOp || op == cue.OrOp {
			return kindsOf(args[0])
		}
	}
	return cue.BottomKind
}

// isLiteral says whether a schema is one plain value.
func isLiteral(v cue.Value) bool {
	return v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0
}

// literals gives those alternatives that are plain values, each once.
func literals(alts []cue.Value) []string {
	var values []string
	for _, a := range alts {
		if s := fmt.Sprint(a); isLiteral(a) && !slices.Contains(values, s) {
			values = append(values, s)
		}
	}
	return values
}

// equals says whether a plain value is the one that the data has.
func equals(literal cue.Value, e ast.Expr) bool {
	if s, ok := text(e); ok {
		l, err := literal.String()
		return err == nil && l == s
	}
	return isScalar(e) && fmt.Sprint(literal) == show(e)
}

// scalar reports a plain value that the schema doesn't take.
func (d *diagnosis) scalar(schema cue.Value, e ast.Expr, path string) {
	var fit, plain []cue.Value
	var others cue.Kind
	alts := alternatives(schema)
	for _, a := range alts {
		switch k := kindsOf(a); {
		case isLiteral(a):
			plain = append(plain, a)
		case k&kindOf(e) != 0:
			fit = append(fit, a)
		default:
			others |= k
		}
	}
	switch {
	case len(fit) == 0 && len(plain) > 0:
		d.oneOf(schema, plain, others, e, path)
	case len(alts) > 1 && len(fit)+len(plain) > 1:
		words := literals(plain)
		for _, a := range fit {
			words = append(words, boundText(a))
		}
		d.add(path, RuleConstraint, d.rulePos(schema), show(e)+" is not "+orList(words), "")
	default:
		// Plain values, other than structs, may be unified with evaluated ones.
		d.constraint(schema.Unify(d.built.ctx.BuildExpr(e)), e, path, schema)
	}
}

// oneOf reports a value that an enumeration lacks; kinds are what else the
// schema takes.
func (d *diagnosis) oneOf(schema cue.Value, plain []cue.Value, kinds cue.Kind, e ast.Expr, path string) {
	values := literals(plain)
	hint := ""
	if s, ok := text(e); ok {
		var words []string
		for _, l := range plain {
			if w, err := l.String(); err == nil {
				words = append(words, w)
			} else if fmt.Sprint(l) == s {
				hint = "write it without quotes"
			}
		}
		if near := nearestWord(s, words); near != "" && len(values) > 1 {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	} else if slices.Contains(values, fmt.Sprintf("%q", show(e))) {
		hint = fmt.Sprintf("write %q", show(e))
	}
	message := show(e) + " is not one of " + strings.Join(values, ", ")
	if len(values) == 1 {
		message = show(e) + " is not " + values[0]
	}
	if kinds != 0 {
		message += " or " + kindWords(kinds)
	}
	d.add(path, RuleEnum, d.rulePos(schema), message, hint)
}

// nearestWord is like nearest.Name, and takes another case for the same word.
func nearestWord(s string, words []string) string {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w
		}
	}
	return nearest.Name(s, words)
}

// branch is the alternative of a union that a mapping was meant to be: fields
// that leave no other, the names that only other branches know, and what is
// said of those.
type branch struct {
	with   []*ast.Field
	others []string
	not    string
}

// choose finds the branch of a union that a mapping was meant to be. Where that
// can't be told, it says so and gives false.
func (d *diagnosis) choose(p place, s *ast.StructLit) (branch, bool) {
	var b branch
	union := d.at(p, &ast.StructLit{})
	all := filter(alternatives(union), func(v cue.Value) bool {
		return v.IncompleteKind() == cue.StructKind
	})
	left := all
	for len(left) > 1 {
		name, values := discriminator(left, s)
		if name == "" {
			break
		}
		f := field(s, name)
		if f == nil {
			likely, certain := likeliest(left, s)
			if !certain {
				return b, d.noBranch(p, s, union, left, name, values)
			}
			left = []cue.Value{likely}
			lits := alternatives(child0(likely, name))
			b.with = append(b.with, &ast.Field{Label: label(name, s.Pos()), Value: literalOf(lits[0])})
			continue
		}
		matching := filter(left, func(v cue.Value) bool {
			return slices.ContainsFunc(alternatives(child0(v, name)), func(l cue.Value) bool { return equals(l, f.Value) })
		})
		if len(matching) == 0 {
			d.oneOf(union, values, 0, f.Value, joinPath(p.path, name))
			return b, false
		}
		left = matching
		b.with = append(b.with, f)
		b.not = fmt.Sprintf("unknown field where %s is %s", name, show(f.Value))
	}
	if len(left) > 1 {
		likely, certain := likeliest(left, s)
		if !certain && !slices.ContainsFunc(fieldsOf(s), func(f *ast.Field) bool { return hasName(likely, labelName(f.Label)) }) {
			return b, d.noBranch(p, s, union, left, "", nil)
		}
		left = []cue.Value{likely}
		with := slices.Clone(b.with)
		for _, name := range required(likely) {
			if !slices.ContainsFunc(with, func(f *ast.Field) bool { return labelName(f.Label) == name }) {
				with = append(with, &ast.Field{Label: label(name, s.Pos()), Value: anything()})
			}
		}
		if len(alternatives(d.at(p, structOf(with)))) == 1 {
			b.with = with
		}
	}
	if len(left) != 1 {
		return b, true
	}
	for _, v := range all {
		for _, name := range fieldNames(v) {
			if !hasName(left[0], name) {
				b.others = append(b.others, name)
			}
		}
	}
	if b.not == "" {
		// What tells the branch from the others is what the mapping has of it.
		for _, f := range fieldsOf(s) {
			name := labelName(f.Label)
			if hasName(left[0], name) && slices.ContainsFunc(all, func(v cue.Value) bool { return !hasName(v, name) }) {
				b.not = "not allowed beside " + name
				break
			}
		}
	}
	if b.not == "" {
		b.others = nil
	}
	return b, true
}

// noBranch reports a mapping that could be meant for any of several branches.
func (d *diagnosis) noBranch(p place, s *ast.StructLit, union cue.Value, branches []cue.Value, name string, values []cue.Value) bool {
	var known []string
	for _, v := range branches {
		known = append(known, fieldNames(v)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	strange := filter(fieldsOf(s), func(f *ast.Field) bool { return !slices.Contains(known, labelName(f.Label)) })
	typos := d.typos(strange, fieldsOf(s), known)
	d.unknown(p, branch{}, branches[0], strange, typos, known)
	if len(strange) > 0 {
		return false
	}
	at := d.rulePos(union)
	if name != "" {
		d.add(joinPath(p.path, name), RuleRequired, at, "missing", "one of "+strings.Join(literals(values), ", "))
		return false
	}
	var needs []string
	for _, v := range branches {
		if w := strings.Join(wanted(v), " and "); w != "" && !slices.Contains(needs, w) {
			needs = append(needs, w)
		}
	}
	if len(needs) == 0 {
		return true
	}
	d.add(p.path, RuleRequired, at, "incomplete", "it needs "+orList(needs))
	return false
}

// discriminator finds a field that has plain values in every branch, and not the
// same in all: one that the data has, else any. It gives all those values.
func discriminator(branches []cue.Value, s *ast.StructLit) (found string, values []cue.Value) {
	for _, name := range fieldNames(branches[0]) {
		var all []cue.Value
		for _, b := range branches {
			alts := alternatives(child0(b, name))
			if !slices.ContainsFunc(alts, func(v cue.Value) bool { return !isLiteral(v) }) {
				all = append(all, alts...)
				continue
			}
			all = nil
			break
		}
		if len(literals(all)) < 2 || found != "" && field(s, name) == nil {
			continue
		}
		// One that the data has and that says nothing more is done with.
		if f := field(s, name); f != nil {
			if !slices.ContainsFunc(branches, func(b cue.Value) bool {
				return !slices.ContainsFunc(alternatives(child0(b, name)), func(l cue.Value) bool { return equals(l, f.Value) })
			}) {
				continue
			}
			sortByPlace(all)
			return name, all
		}
		found, values = name, all
	}
	sortByPlace(values)
	return found, values
}

// child0 gives a field of a schema, optional or not.
func child0(v cue.Value, name string) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

func hasName(v cue.Value, name string) bool { return slices.Contains(fieldNames(v), name) }

// required lists the fields of a schema that aren't optional.
func required(v cue.Value) []string {
	var names []string
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		if it.FieldType()&cue.OptionalConstraint == 0 {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// likeliest is the branch with the most plain values in common with the data,
// then the most field names, slips counted, then the fewest fields that the
// data lacks; certain says that no other branch comes as near.
func likeliest(branches []cue.Value, s *ast.StructLit) (best cue.Value, certain bool) {
	scores := make([]int, len(branches))
	for i, b := range branches {
		names := fieldNames(b)
		for _, f := range fieldsOf(s) {
			scores[i] += likeness(b, names, labelName(f.Label), f.Value)
		}
		scores[i] -= len(wanted(b))
	}
	most := slices.Max(scores)
	at := slices.Index(scores, most)
	return branches[at], most > 0 && !slices.Contains(scores[at+1:], most)
}

func likeness(b cue.Value, names []string, name string, e ast.Expr) int {
	weight := 10
	if !slices.Contains(names, name) {
		if name = nearest.Name(name, names); name == "" {
			return 0
		}
		weight = 5
	}
	schema := child0(b, name)
	switch alts := alternatives(schema); {
	case !isLiteral(alts[0]):
		if kindsOf(schema)&kindOf(e) == 0 {
			return weight - 1
		}
		return weight
	case slices.ContainsFunc(alts, func(l cue.Value) bool { return equals(l, e) }):
		return 100 * weight
	}
	return -100 * weight
}
