package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// writes is how often graphs or their status were written.
func writes(proxy *faults.Proxy) int {
	return proxy.Count(func(r faults.Request) bool {
		return r.Verb == "patch" && strings.HasPrefix(r.Resource, "resourcegraphs.")
	})
}

// A graph that fails is tried again and again; as long as it fails in the same
// way, there is nothing new to write.
func TestFailingAgainWritesNothing(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.account("weak")
	proxy := b.Proxy(t, 1)
	b.options.Resync = 300 * time.Millisecond
	b.start(proxy.Config(b.applierConfig()))
	b.apply(b.rendered("weak", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a")), as("weak")))
	b.apply(b.rendered("lost", nodes(configMap("c", "c", "1")), as("nobody")))
	b.until("weak", condition("Stalled", "True", "Forbidden", ""))
	b.until("lost", condition("Stalled", "True", "ServiceAccountMissing", ""))
	tries := func(n int) {
		t.Helper()
		tried := func() int {
			return proxy.Count(func(r faults.Request) bool {
				return r.Verb == "get" && r.Resource == "resourcegraphs.platform.pequod.io" && r.Name == "weak"
			})
		}
		first := tried()
		b.eventually("tried again", func(ctx) bool { return tried() >= first+n })
	}
	tries(3) // it may fail in another way then: at reading what it made nothing of
	nothing := func(what string, n int) {
		t.Helper()
		before := writes(proxy)
		tries(n)
		if n := writes(proxy) - before; n > 0 {
			t.Errorf("%s: %d writes of graphs that fail as before:\n%s", what, n, shown(proxy.Requests()))
		}
	}
	nothing("quick", 5)
	proxy.Inject(faults.Rule{Verbs: []string{"get"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Delay{For: 3 * time.Second}}})
	tries(1)
	nothing("slow", 2)
}

// What is written of a new graph: the finalizer and the result; of one that changes,
// the intent and the result; of drift that is corrected, one.
func TestWritesOfAGraph(t *testing.T) {
	t.Parallel()
	b, proxy := proxied(t)
	count := func(what string, want int, do func()) {
		t.Helper()
		b.quiet(proxy)
		proxy.Reset()
		began := time.Now()
		do()
		progress := int(time.Since(began) / (2 * time.Second)) // the first write of progress comes after 2 s, the next ones every 5 s
		b.quiet(proxy)
		if n := writes(proxy); n < want || n > want+progress {
			t.Errorf("%s: %d writes; want %d and at most %d of progress:\n%s", what, n, want, progress, shown(proxy.Requests()))
		}
	}
	text := nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"), configMap("c", "c", "1"))
	count("made", 2, func() {
		b.apply(b.rendered("web", text))
		b.ready("web")
	})
	count("corrected", 1, func() {
		b.patch("v1", "ConfigMap", "b", "somebody", `{"data":{"a":"other"}}`)
		b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "b") == "1" })
	})
	count("changed", 2, func() {
		b.apply(b.rendered("web", nodes(configMap("a", "a", "2"), configMap("b", "b", "1", "a"))))
		b.ready("web")
	})
	count("suspended", 1, func() {
		b.merge("web", `{"spec":{"suspend":true}}`)
		b.ready("web")
	})
	count("resumed", 1, func() {
		b.merge("web", `{"spec":{"suspend":false}}`)
		b.ready("web")
	})
	count("annotated by somebody", 0, func() { b.merge("web", `{"metadata":{"annotations":{"example.com/x":"y"}}}`) })
	count("a hash that says nothing", 1, func() {
		b.apply(b.rendered("web", nodes(configMap("a", "a", "2"), configMap("b", "b", "1", "a")), func(s *v1alpha1.ResourceGraphSpec) { s.PlatformRef.Version = "v2" }))
		b.ready("web")
	})
	count("deleted", 2, func() { // that it goes, and the finalizer
		b.remove("web")
		b.gone("web")
	})
}

// If another client writes a graph at the same time, the applier reads and writes
// it again without a backoff.
func TestWriteConflictRetriedWithoutBackoff(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	n := &notes{}
	b.options.Metrics = n
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.applierConfig()))
	conflict := func(resource string) faults.Rule {
		return faults.Rule{Verbs: []string{"patch"}, Resources: []string{resource}, Times: 2, Faults: []faults.Fault{faults.Status{Code: 409}}}
	}
	proxy.Inject(conflict("resourcegraphs.platform.pequod.io"), conflict("resourcegraphs.platform.pequod.io/status"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	faults := 0
	for _, times := range proxy.Faults() {
		faults += times
	}
	if faults != 4 {
		t.Errorf("%d conflicts; want 4", faults)
	}
	for _, line := range n.all() {
		if strings.Contains(line, "can't be executed") {
			t.Error(line)
		}
	}
}
