package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// proxied is an applier behind a proxy that counts what it asks for.
func proxied(t *testing.T) (*env, *faults.Proxy) {
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	b.ServiceAccount(t, b.Namespace, "applier")
	b.start(proxy.Config(b.applierConfig()))
	return b, proxy
}

// applierConfig is the access of an applier that may do anything.
func (b *env) applierConfig() *rest.Config {
	b.t.Helper()
	config := b.ServiceAccount(b.t, b.Namespace, "applier")
	config.QPS = -1
	b.clusterAdmin("applier")
	return config
}

// mine reports whether a request counts. How many pages a list has depends on other tests, so only
// the first one counts.
func mine(r faults.Request) bool {
	return !r.Continues && !r.Discovery() && r.Verb != "watch" && !strings.HasPrefix(r.Resource, "events") && !strings.HasPrefix(r.Resource, "/")
}

func shown(requests []faults.Request) string {
	var text []string
	for _, r := range requests {
		text = append(text, fmt.Sprintf("%s %s %s", r.Verb, r.Resource, r.Name))
	}
	return strings.Join(text, "\n")
}

func TestRequestsOfACreatedGraph(t *testing.T) {
	t.Parallel()
	b, proxy := proxied(t)
	// The watches are there, and the account is known.
	b.apply(b.rendered("first", nodes(configMap("a", "first-a", "1"))))
	b.ready("first")
	proxy.Reset()
	b.apply(b.rendered("second", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"), configMap("c", "c", "1"), configMap("d", "d", "1"))))
	b.ready("second")
	requests := slices.DeleteFunc(proxy.Requests(), func(r faults.Request) bool { return !mine(r) })
	if len(requests) > 4+4 {
		t.Errorf("%d requests for 4 objects:\n%s", len(requests), shown(requests))
	}
}

// Many graphs that take long don't write the status of each again and again: the writes
// that show progress are limited together.
func TestProgressOfManyGraphsIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	const graphs, atOnce, average = 100, 10, 2
	b, proxy := proxied(t)
	statuses := func(r faults.Request) bool { return r.Verb == "patch" && r.Resource == graphStatuses }
	began := time.Now()
	for i := range graphs {
		b.apply(b.rendered(fmt.Sprintf("g%d", i), nodes(fmt.Sprintf(`{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: g%d}},
  readyWhen: [{type: Expression, expr: "has(object.data)"}]}`, i))))
	}
	b.eventually("the progress of some is written", func(ctx) bool { return proxy.Count(statuses) >= atOnce+2*average })
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.eventually(name+" is created", func(ctx ctx) bool { return b.exists(ctx, "v1", "ConfigMap", name) })
		b.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"1"}}`)
	}
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	took := int(time.Since(began).Seconds()) + 1
	// One is the result, and after 20 seconds each may write its progress.
	most := graphs + atOnce + average*took + took/20*graphs*took/5
	if n := proxy.Count(statuses); n > most {
		t.Errorf("%d statuses of %d graphs were written in %d s; want at most %d", n, graphs, took, most)
	}
}

func TestNothingChangedCostsNothing(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	b.options.Resync = 200 * time.Millisecond
	b.start(proxy.Config(b.applierConfig()))
	b.apply(b.rendered("web", webService))
	b.ready("web")
	b.quiet(proxy)
	before := len(proxy.Requests())
	time.Sleep(3 * time.Second) // many resyncs
	if requests := proxy.Requests()[before:]; len(requests) > 0 {
		t.Errorf("requests at rest:\n%s", shown(requests))
	}
	// It is at rest, not dead.
	b.patch("v1", "ConfigMap", "web", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "web") == "one" })
}

// quiet waits until an applier asks for nothing for a while.
func (b *env) quiet(proxy *faults.Proxy) {
	b.t.Helper()
	last, since := -1, time.Now()
	b.eventually("quiet", func(ctx) bool {
		if n := len(proxy.Requests()); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
}
