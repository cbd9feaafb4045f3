package forecast

import (
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// tree has the objects of one side.
type tree struct {
	all         map[objectdiff.Key]*objectdiff.Object
	namespaces  map[string][]*objectdiff.Object
	autoscalers []autoscaler
}

// newTree indexes objects. It keeps pointers to them.
func newTree(objects []objectdiff.Object) tree {
	t := tree{all: map[objectdiff.Key]*objectdiff.Object{}, namespaces: map[string][]*objectdiff.Object{}}
	for i := range objects {
		o := &objects[i]
		t.all[o.Key] = o
		t.namespaces[o.Namespace] = append(t.namespaces[o.Namespace], o)
		if a, ok := autoscalerOf(o); ok {
			t.autoscalers = append(t.autoscalers, a)
		}
	}
	return t
}

// text returns a string field of an object, or "". The path has dots.
func text(o *objectdiff.Object, path string) string {
	s, _ := value(o, path).(string)
	return s
}

// value returns a field of an object, or nil. The path has dots, and o may be nil.
func value(o *objectdiff.Object, path string) any {
	if o == nil {
		return nil
	}
	return o.Field(strings.Split(path, ".")...)
}

// list returns a list of maps at a path of a map. Members of other types are left out.
func list(v any) []map[string]any {
	members, _ := v.([]any)
	var found []map[string]any
	for _, m := range members {
		if m, ok := m.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}
