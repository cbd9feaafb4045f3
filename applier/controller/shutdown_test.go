package controller_test

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// An applier that is asked to end lets the requests under way come to their end;
// what it began, the next one goes on with.
func TestEndsGracefully(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	config := proxy.Config(b.applierConfig())
	b.start(config)
	proxy.Inject(faults.Rule{Verbs: []string{"apply"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Delay{For: 4 * time.Second}}})
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"))))
	applying := func(name string) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "apply" && r.Name == name }) > 0
	}
	b.eventually("applying", func(ctx) bool { return applying("a") })
	b.stop()
	b.wantExists(true, "v1", "ConfigMap", "a")
	if applying("b") {
		t.Error("it began something new after it was asked to end")
	}
	proxy.Inject()
	b.start(config)
	b.ready("web")
	b.wantExists(true, "v1", "ConfigMap", "a", "b")
}
