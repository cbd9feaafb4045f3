package forecast

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// tree has the objects of one side.
type tree struct {
	all        map[objectdiff.Key]*objectdiff.Object
	namespaces map[string][]*objectdiff.Object
	// autoscalers are by their targets.
	autoscalers map[objectdiff.Key]autoscaler
	// quotas are by namespace.
	quotas map[string][]*objectdiff.Object
	// readings are by the ConfigMap or Secret that is read.
	readings map[objectdiff.Key][]reading
	// needed are by the object without which the Pods of a workload can't start.
	needed map[objectdiff.Key][]reading
}

// newTree indexes objects. It keeps pointers to them.
func newTree(objects []objectdiff.Object) tree {
	t := tree{
		all: map[objectdiff.Key]*objectdiff.Object{}, namespaces: map[string][]*objectdiff.Object{},
		autoscalers: map[objectdiff.Key]autoscaler{}, quotas: map[string][]*objectdiff.Object{},
		readings: map[objectdiff.Key][]reading{}, needed: map[objectdiff.Key][]reading{},
	}
	for i := range objects {
		o := &objects[i]
		t.all[o.Key] = o
		t.namespaces[o.Namespace] = append(t.namespaces[o.Namespace], o)
		if a, ok := autoscalerOf(o); ok {
			t.autoscalers[a.target] = a
		}
		if limitsAll(o) {
			t.quotas[o.Namespace] = append(t.quotas[o.Namespace], o)
		}
		for _, r := range readingsOf(o) {
			t.readings[r.object] = append(t.readings[r.object], r)
		}
		for _, r := range needsOf(o) {
			t.needed[r.object] = append(t.needed[r.object], r)
		}
	}
	return t
}

// needs reports whether the Pods of a workload can't start without an object.
func (t tree) needs(object, workload objectdiff.Key) bool {
	return slices.ContainsFunc(t.needed[object], func(r reading) bool { return r.workload.Key == workload })
}

// limitsAll reports whether an object is a quota for its namespace. Quotas with a scope
// are not: they concern only some of the Pods.
func limitsAll(o *objectdiff.Object) bool {
	return o.Group == "" && o.Kind == "ResourceQuota" && value(o, "spec.scopes") == nil && value(o, "spec.scopeSelector") == nil
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
