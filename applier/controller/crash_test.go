package controller_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/clustertest"
	"github.com/pequod-io/pequod/clustertest/faultproxy"
)

func TestDefinitionGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.controllertest.example.com}
spec:
  group: controllertest.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	b.Apply(t, crd)
	remove := func() {
		definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = definitions.Delete(b.background(), "things.controllertest.example.com", metav1.DeleteOptions{})
	}
	t.Cleanup(remove)
	thing := `{id: thing, resource: {apiVersion: controllertest.example.com/v1, kind: Thing, metadata: {name: a}, spec: {x: 1}}}`
	b.apply(b.rendered("web", nodes(thing, configMap("a", "a", "1", "thing"))))
	b.apply(b.rendered("other", nodes(configMap("a", "other-a", "1"))))
	b.ready("web")
	b.ready("other")
	remove()
	b.until("web", condition("Ready", "False", "UnknownKind", "the cluster knows no Thing"))
	// Others aren't concerned.
	b.patch("v1", "ConfigMap", "other-a", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "other-a") == "1" })
	b.ready("other")
	b.Apply(t, crd)
	b.ready("web")
	remove()
	b.until("web", condition("Ready", "False", "UnknownKind", ""))
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
}

func TestRestartMidway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const graphs = 8
	for round := range 3 {
		for i := range graphs {
			name := fmt.Sprintf("g%d", i)
			text := nodes(configMap("a", name+"-a", fmt.Sprint(round)), configMap("b", name+"-b", fmt.Sprint(round), "a"),
				configMap("c", fmt.Sprintf("%s-c%d", name, round), "1", "b"))
			b.apply(b.rendered(name, text))
		}
		time.Sleep(time.Duration(50+100*round) * time.Millisecond)
		b.stop()
		b.start(b.Config)
	}
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		rg := b.ready(name)
		if got, want := owned(rg), fmt.Sprintf("ConfigMap %s-a, ConfigMap %s-b, ConfigMap %s-c2", name, name, name); got != want {
			t.Errorf("inventory: %s; want %s", got, want)
		}
		b.wantExists(false, "v1", "ConfigMap", name+"-c0", name+"-c1")
	}
	b.stop()
	// What happens while nobody looks is seen afterwards.
	b.patch("v1", "ConfigMap", "g0-a", "somebody", `{"data":{"a":"other"}}`)
	b.remove("g1")
	b.start(b.Config)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "g0-a") == "2" })
	b.gone("g1")
	b.wantExists(false, "v1", "ConfigMap", "g1-a", "g1-b", "g1-c2")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	b := idle(t, clustertest.Start(t))
	b.patience = 4 * time.Minute
	proxy := b.Proxy(t, 7)
	b.start(proxy.Config(b.applierConfig()))
	proxy.Inject(faultproxy.Rule{Rate: 0.2, Faults: []faultproxy.Fault{
		faultproxy.Status{Code: 500}, faultproxy.Status{Code: 429}, faultproxy.Status{Code: 409}, faultproxy.Drop{}, faultproxy.Cut{},
	}})
	const graphs = 10
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "1"), configMap("b", name+"-b", "1", "a"), configMap("c", name+"-c", "1"))))
	}
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "2"), configMap("d", name+"-d", "1", "a"))))
	}
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		rg := b.ready(name)
		if got, want := owned(rg), fmt.Sprintf("ConfigMap %s-a, ConfigMap %s-d", name, name); got != want {
			t.Errorf("inventory: %s; want %s", got, want)
		}
		b.wantExists(false, "v1", "ConfigMap", name+"-b", name+"-c")
		b.remove(name)
	}
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.gone(name)
		b.wantExists(false, "v1", "ConfigMap", name+"-a", name+"-d")
	}
}
