package instance

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// rendered returns a graph of an instance of its name, in a version.
func rendered(name, uid, version string, generation int64) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version, Generation: generation}}
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "example.org/v1", Kind: "App", Namespace: "shop", Name: name}
	return rg
}

// Every change is reported once, also if it happened while no watch was open, and what was shown before
// such a gap isn't.
func TestGraphs(t *testing.T) {
	g := NewGraphs()
	var changed []string
	g.changed = func(source sourceKey) { changed = append(changed, source.Name) }
	want := func(names ...string) {
		t.Helper()
		slices.Sort(changed)
		if !slices.Equal(changed, names) {
			t.Errorf("changed: %q; want %q", changed, names)
		}
		changed = nil
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	select {
	case <-g.listed:
		t.Error("nothing is listed yet")
	default:
	}
	do(g.Replace([]any{rendered("a", "1", "5", 1), rendered("b", "2", "6", 1), rendered("c", "3", "7", 1)}, "10"))
	<-g.listed
	want("a", "b", "c")
	do(g.Update(rendered("a", "1", "11", 2)))
	do(g.Add(rendered("d", "4", "12", 1)))
	do(g.Delete(rendered("b", "2", "13", 1)))
	want("a", "b", "d")
	// While no watch is open, a changes, c is deleted, and d is deleted and made again.
	do(g.Replace([]any{rendered("a", "1", "14", 2), rendered("d", "5", "15", 1)}, "20"))
	want("a", "c", "d")
	do(g.Replace([]any{rendered("a", "1", "14", 2), rendered("d", "5", "15", 1)}, "21"))
	want()
	if names := g.views.ListKeys(); len(names) != 2 {
		t.Errorf("graphs: %q", names)
	}
}

// A write of this process counts until the watch has shown it, and a graph that is missing after that was
// deleted.
func TestGraphsShowWrites(t *testing.T) {
	g := NewGraphs()
	key := types.NamespacedName{Namespace: "shop", Name: "a"}
	written := &graphView{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12"}}
	want := func(version string) {
		t.Helper()
		v := g.get(key, written)
		if v == nil && version != "" || v != nil && v.ResourceVersion != version {
			t.Errorf("version %q is shown: %+v", version, v)
		}
	}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return g.Replace(nil, "10") }, "12"},
		{func() error { return g.Bookmark("11") }, "12"},
		{func() error { return g.Add(rendered("a", "1", "12", 1)) }, "12"},
		{func() error { return g.Update(rendered("a", "1", "13", 1)) }, "13"},
		{func() error { return g.Delete(rendered("a", "1", "14", 1)) }, ""},
		{func() error { return g.Replace([]any{rendered("a", "1", "9", 1)}, "9") }, "12"},
		{func() error { return g.Replace(nil, "9") }, "12"},
		{func() error { return g.Bookmark("12") }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		want(step.want)
	}
}

// The digest of a graph is that of its rendered spec, whatever the order and the form of its fields. It is
// taken again if the spec may have changed.
func TestViewOf(t *testing.T) {
	rg := rendered("a", "1", "5", 1)
	rg.Spec.Graph.Nodes = []v1alpha1.Node{{ID: "x", Resource: &runtime.RawExtension{Raw: []byte(`{"b": 1.0, "a": {"d": 1, "c": "<"}}`)}}}
	rg.Status.ObservedGeneration = 1
	rg.Status.NodeStates = map[string]v1alpha1.NodeState{"x": {Phase: v1alpha1.NodeReady}}
	rg.Status.Outputs = map[string]runtime.RawExtension{"port": {Raw: []byte("80")}}
	v, err := viewOf(rg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.total != 1 || v.state.ready != 1 || v.state.outputs["port"] != int64(80) {
		t.Errorf("view: %+v", v)
	}
	other := rg.DeepCopy()
	other.Spec.Suspend = true
	other.Spec.Graph.Nodes[0].Resource.Raw = []byte(`{"a":{"c":"\u003c","d":1},"b":1}`)
	if w, err := viewOf(other, nil); err != nil || w.spec != v.spec {
		t.Errorf("the digest of an equal spec differs: %v", err)
	}
	other.Spec.Graph.Nodes[0].ID = "y"
	if w, err := viewOf(other, v); err != nil || w.spec != v.spec {
		t.Errorf("the digest of the same generation was taken again: %v", err)
	}
	other.Generation++
	if w, err := viewOf(other, v); err != nil || w.spec == v.spec {
		t.Errorf("the digest of another generation is the same: %v", err)
	}
}
