package render

import (
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// fromFields are the fields of one resource that its node's `from` fills in
// with late references. If a typed schema requires a string, a {"$from": …}
// can't stand in the resource itself. A nil *fromFields is empty.
//
// For example, the node
//
//	from: "spec.roleARN": "role.status.arn"
//
// has the late reference role.status.arn at resource.spec.roleARN.
type fromFields struct {
	exprs map[string]string // CEL expressions by full path
	order []string          // the paths as declared
	used  map[string]bool   // paths at which the resource has a value
}

// add adds an expression for a path below the resource and returns the full
// path.
func (f *fromFields) add(resource string, path cue.Path, expr string) string {
	full := fieldpath.Concat(resource, cuesyntax.PathString(path.Selectors()))
	f.exprs[full] = expr
	f.order = append(f.order, full)
	return full
}

// take returns the expression for a path and marks it as used.
func (f *fromFields) take(path string) (string, bool) {
	if f == nil {
		return "", false
	}
	expr, ok := f.exprs[path]
	if ok {
		f.used[path] = true
	}
	return expr, ok
}

// fill adds late references at paths that the resource does not mention. It
// returns the paths that the resource can't have. resource is the path of the
// resource.
func (f *fromFields) fill(resource string, object map[string]any) (impossible []string) {
	if f == nil {
		return nil
	}
	for _, full := range f.order {
		if f.used[full] {
			continue
		}
		parts := fieldpath.Split(strings.TrimPrefix(full, resource))
		if !setPath(object, parts, map[string]any{reference.FromKey: f.exprs[full]}) {
			impossible = append(impossible, full)
		}
	}
	return impossible
}

// setPath sets a value at a path of map keys and creates maps on the way. It
// returns false if there is something other than a map on the way.
func setPath(m map[string]any, path []string, value any) bool {
	for i, part := range path {
		if i == len(path)-1 {
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
