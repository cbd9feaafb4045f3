package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// Each graph that is deleted has to know what the others list, and a namespace
// of a thousand graphs was once read a thousand times for that.
func TestGraphsDeletedTogetherReadTheOthersTogether(t *testing.T) {
	t.Parallel()
	const graphs = 10
	b, proxy := proxied(t)
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.apply(b.rendered(name, nodes(configMap("a", name, "1"))))
	}
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	proxy.Reset()
	// While one look takes its time, all the others come to ask.
	proxy.Inject(faults.Rule{
		Verbs: []string{"list"}, Resources: []string{"resourcegraphs.platform.pequod.io"}, Times: 2,
		Faults: []faults.Fault{faults.Delay{For: 3 * time.Second}},
	})
	for i := range graphs {
		b.remove(fmt.Sprintf("g%d", i))
	}
	for i := range graphs {
		b.gone(fmt.Sprintf("g%d", i))
	}
	looks := proxy.Count(func(r faults.Request) bool {
		return r.Verb == "list" && r.Resource == "resourcegraphs.platform.pequod.io"
	})
	if looks >= graphs {
		t.Errorf("%d graphs that were deleted together read the others %d times", graphs, looks)
	}
}
