package controller_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// graphNames returns the names of graphs.
func graphNames(number int) []string {
	names := make([]string, number)
	for i := range names {
		names[i] = fmt.Sprintf("graph-%d", i)
	}
	return names
}

// TestReplicasDivideGraphs starts and ends replicas. Each graph is executed by one of them, and to
// move it between them writes nothing.
func TestReplicasDivideGraphs(t *testing.T) {
	t.Parallel()
	f, names := newFleet(t), graphNames(12)
	first := f.begin(4)
	f.set("1", names...)
	f.reached("1", names...)
	f.balanced(map[*replica]int{first: 4})
	f.settled(names...)

	before := f.versions(names...)
	first.proxy.Reset()
	second := f.begin(4)
	f.balanced(map[*replica]int{first: 2, second: 2})
	third := f.begin(4)
	f.balanced(map[*replica]int{first: 2, second: 1, third: 1})
	f.settled(names...)
	first.stop()
	f.balanced(map[*replica]int{second: 2, third: 2})
	f.settled(names...)
	if diff := cmp.Diff(before, f.versions(names...)); diff != "" {
		t.Errorf("versions of graphs and objects (-before +after they moved):\n%s", diff)
	}
	for _, r := range []*replica{first, second, third} {
		for _, w := range r.written() {
			t.Errorf("%s: %s %s %s", r.name, w.Verb, w.Resource, w.Name)
		}
	}

	for _, name := range names {
		f.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"drift"}}`)
		f.eventually("corrected", func(ctx ctx) bool { return f.data(ctx, name) == "1" })
	}
	f.once(names...)

	third.kill()
	f.set("2", names...)
	f.reached("2", names...)
	f.balanced(map[*replica]int{second: 4})
	f.once(names...)
}
