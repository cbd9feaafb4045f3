package objectdiff

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The tags of the types of Kubernetes define the merge keys.
func TestListKeysIncludeMergeKeys(t *testing.T) {
	seen := map[reflect.Type]bool{}
	checked := 0
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			// Only the API server writes status, so files do not have its lists.
			if key := f.Tag.Get("patchMergeKey"); key != "" && !strings.HasSuffix(typ.Name(), "Status") {
				checked++
				found := slices.ContainsFunc(listKeys(name), func(keys []string) bool { return slices.Contains(keys, key) })
				if !found {
					t.Errorf("%s.%s: merge key %s isn't among %v", typ, name, key, listKeys(name))
				}
			}
			walk(f.Type)
		}
	}
	for _, object := range []any{
		appsv1.Deployment{}, appsv1.StatefulSet{}, appsv1.DaemonSet{}, batchv1.CronJob{},
		corev1.Service{}, corev1.ServiceAccount{}, corev1.PersistentVolume{},
	} {
		walk(reflect.TypeOf(object))
	}
	if checked < 15 {
		t.Errorf("%d merge keys checked: the types were not walked", checked)
	}
}

func TestLists(t *testing.T) {
	m := func(pairs ...any) any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	for _, test := range []struct {
		name, list string
		a, b       []any
		want       []string
	}{
		{"by name", "containers",
			[]any{m("name", "a", "image", "1"), m("name", "b", "image", "1")},
			[]any{m("name", "b", "image", "2"), m("name", "c", "image", "1")},
			[]string{"change list[name=b].image", "add list[name=c]", "remove list[name=a]"}},
		{"order", "env",
			[]any{m("name", "a"), m("name", "b"), m("name", "c")}, []any{m("name", "c"), m("name", "a")},
			[]string{"remove list[name=b]", "reorder list"}},
		{"duplicate name", "env",
			[]any{m("name", "a", "value", "1"), m("name", "a", "value", "2")},
			[]any{m("name", "a", "value", "1"), m("name", "a", "value", "3")},
			[]string{"change list[1].value"}},
		{"ports without names", "ports",
			[]any{m("port", int64(80)), m("port", int64(80), "protocol", "UDP")},
			[]any{m("port", int64(80), "protocol", "TCP"), m("port", int64(80), "protocol", "UDP")},
			[]string{"add list[port=80,protocol=TCP].protocol"}},
		{"mounts of one volume", "volumeMounts",
			[]any{m("name", "v", "mountPath", "/a"), m("name", "v", "mountPath", "/b")},
			[]any{m("name", "v", "mountPath", "/b", "readOnly", true)},
			[]string{"add list[mountPath=/b].readOnly", "remove list[mountPath=/a]"}},
		{"claim templates", "volumeClaimTemplates",
			[]any{m("metadata", m("name", "x"), "spec", "1")}, []any{m("metadata", m("name", "x"), "spec", "2")},
			[]string{"change list[metadata.name=x].spec"}},
		{"unknown list by id", "shards",
			[]any{m("id", int64(1), "size", "1")}, []any{m("id", int64(1), "size", "2")},
			[]string{"change list[id=1].size"}},
		{"strings", "args",
			[]any{"a", "b", "c"}, []any{"a", "x", "b", "c"},
			[]string{"add list[1]"}},
		{"flags", "args",
			[]any{"--a=1", "--b=1", "--c=1"}, []any{"--b=2", "--c=1"},
			[]string{"remove list[0]", "change list[0]"}},
		{"similar rules", "rules",
			[]any{m("apiGroups", "x", "resources", "p", "verbs", "get")},
			[]any{m("apiGroups", "new", "resources", "n", "verbs", "list"), m("apiGroups", "x", "resources", "p", "verbs", "all")},
			[]string{"add list[0]", "change list[1].verbs"}},
		{"a set", "verbs",
			[]any{"get", "list"}, []any{"get", "watch"},
			[]string{"remove verbs[1]", "add verbs[1]"}},
		{"scalars and maps", "odd",
			[]any{"a", m("b", "c")}, []any{m("b", "c"), "a"},
			[]string{"remove list[0]", "add list[1]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c comparer
			c.lists(Path{test.list}, test.a, test.b)
			var got []string
			for _, change := range c.changes {
				path := change.Path.String()
				if test.list != "verbs" {
					path = strings.Replace(path, test.list, "list", 1)
				}
				got = append(got, string(change.Action)+" "+path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
