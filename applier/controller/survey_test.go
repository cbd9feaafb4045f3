package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// An applier that starts finds out how every graph is. The first list of its watch is
// enough for the objects of all of them.
func TestGraphsReadTogetherAfterAStart(t *testing.T) {
	t.Parallel()
	const graphs = 60
	b, proxy := proxied(t)
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.apply(b.rendered(name, nodes(configMap("a", name, "1"))))
	}
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	b.stop()
	// What changed meanwhile is found.
	b.patch("v1", "ConfigMap", "g7", "somebody", `{"data":{"a":"other"}}`)
	// So is what lost its labels, which no list shows.
	b.patch("v1", "ConfigMap", "g8", "somebody", `{"metadata":{"labels":null}}`)
	proxy.Reset()
	// While the first list is made, the others come to ask.
	proxy.Inject(faults.Rule{
		Verbs: []string{"list"}, Resources: []string{"configmaps"}, Times: 40,
		Faults: []faults.Fault{faults.Delay{For: 5 * time.Second}},
	})
	b.start(proxy.Config(b.applierConfig()))
	b.eventually("g7 is corrected", func(ctx ctx) bool { return b.data(ctx, "g7") == "1" })
	b.eventually("g8 has its labels again", func(ctx ctx) bool {
		return b.Get(t, "v1", "ConfigMap", "g8").GetLabels()["pequod.io/graph"] == "g8"
	})
	b.quiet(proxy)
	lists := proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" })
	if lists > 3 { // a list has several pages if other tests have made many objects
		t.Errorf("%d lists to find %d graphs unchanged", lists, graphs)
	}
}
