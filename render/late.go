package render

import (
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// lateFields are the fields of one resource that its node's `from` fills in:
// where a typed schema wants a string, {"$from": …} can't stand in the resource
// itself.
type lateFields struct {
	exprs map[string]string // by full path
	order []string
	used  map[string]bool
}

// late reads a node's `from`.
func (d *decoder) late(v cue.Value, path string) *lateFields {
	from := v.LookupPath(cue.MakePath(cue.Str("from")))
	if !from.Exists() {
		return nil
	}
	base := "resource"
	if !v.LookupPath(cue.MakePath(cue.Str(base))).Exists() && v.LookupPath(cue.MakePath(cue.Str("object"))).Exists() {
		base = "object"
	}
	l := &lateFields{exprs: map[string]string{}, used: map[string]bool{}}
	d.fields(from, fieldpath.Join(path, "from"), nil, func(name string, v cue.Value) {
		at := fieldpath.Join(fieldpath.Join(path, "from"), name)
		p := cue.ParsePath(name)
		if p.Err() != nil || name == "" {
			d.problem(v, at, problem.RuleGraph, `write a path such as spec.roleARN or metadata.annotations."a.b/c"`, "%q is not a path", name)
			return
		}
		full := joinShown(fieldpath.Join(path, base), cuesyntax.PathString(p.Selectors()))
		l.exprs[full] = d.text(v, at)
		if d.unknown != nil {
			d.unknown.reference(full, at)
		}
		l.order = append(l.order, full)
	})
	return l
}

// joinShown puts a shown path behind another.
func joinShown(base, path string) string {
	if path[0] == '[' {
		return base + path
	}
	return base + "." + path
}

func (l *lateFields) at(path string) (string, bool) {
	if l == nil {
		return "", false
	}
	expr, ok := l.exprs[path]
	if ok {
		l.used[path] = true
	}
	return expr, ok
}

// fill puts expressions in at places that the module doesn't mention at all, and
// reports those that can't be there.
func (l *lateFields) fill(d *decoder, v cue.Value, path string, object map[string]any) {
	if l == nil {
		return
	}
	for _, full := range l.order {
		if l.used[full] {
			continue
		}
		parts := fieldpath.Split(strings.TrimPrefix(full, path))
		if !setPath(object, parts, map[string]any{"$from": l.exprs[full]}) {
			d.problem(v, full, problem.RuleGraph, "", "from: the resource has no such place")
		}
	}
}

func setPath(m map[string]any, parts []string, value any) bool {
	for i, part := range parts {
		if i == len(parts)-1 {
			m[part] = value
			return true
		}
		next, ok := m[part]
		if !ok {
			next = map[string]any{}
			m[part] = next
		}
		if m, ok = next.(map[string]any); !ok {
			return false
		}
	}
	return false
}
