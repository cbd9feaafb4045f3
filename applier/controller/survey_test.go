package controller_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

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
	lists := proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" && !r.Continues })
	if lists > 3 { // a list has several pages if other tests have made many objects
		t.Errorf("%d lists to find %d graphs unchanged", lists, graphs)
	}
}

// The first list of a watch waits for all graphs that were there when the applier
// started, also for those whose first run takes longer to begin.
func TestFirstListAwaitsAllGraphs(t *testing.T) {
	t.Parallel()
	const each = 20
	// Other tests make no LimitRanges, so that a list of them has one page.
	b, proxy := proxied(t)
	b.account("slow", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	for i := range each {
		for _, account := range []string{"pequod", "slow"} {
			name := fmt.Sprintf("%s-%d", account, i)
			b.apply(b.rendered(name, `nodes: [{id: a, resource: {apiVersion: v1, kind: LimitRange, metadata: {name: `+name+`}, spec: {limits: [{type: Pod}]}}}]`, as(account)))
		}
	}
	for i := range each {
		b.ready(fmt.Sprintf("pequod-%d", i))
		b.ready(fmt.Sprintf("slow-%d", i))
	}
	lists := func() int {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "limitranges" })
	}
	fewest := math.MaxInt
	for range 3 { // if the machine is busy, the list may give up its wait
		b.stop()
		proxy.Reset()
		proxy.Inject(faults.Rule{
			Verbs: []string{"get"}, Resources: []string{"serviceaccounts"}, Names: []string{"slow"},
			Faults: []faults.Fault{faults.Delay{For: time.Second}},
		})
		b.start(proxy.Config(b.applierConfig()))
		b.eventually("listed", func(ctx) bool { return lists() > 0 })
		b.quiet(proxy)
		fewest = min(fewest, lists())
	}
	if fewest != 1 {
		t.Errorf("%d lists for the graphs of two accounts", fewest)
	}
}
