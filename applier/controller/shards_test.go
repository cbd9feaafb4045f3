package controller_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pequod-io/pequod/test/harness"
)

// TestSelector runs two appliers with disjoint selectors. Each executes its graphs. A
// graph that no selector matches is left alone until its labels match again.
func TestSelector(t *testing.T) {
	t.Parallel()
	const key = "sharding.fluxcd.io/key"
	main := idle(t, harness.Start(t))
	main.options.Selector = selector(t, "!"+key)
	shard := *main
	shard.options.Selector = selector(t, key+"=shard1")

	main.apply(main.rendered("there", nodes(configMap("a", "there", "1"))))
	main.merge("there", `{"metadata": {"labels": {"`+key+`": "shard1"}}}`)
	main.start(main.Config)
	main.apply(main.rendered("here", nodes(configMap("a", "here", "1"))))
	main.ready("here")
	if main.exists(t.Context(), "v1", "ConfigMap", "there") {
		t.Error("a graph was executed that doesn't match the selector")
	}
	shard.start(shard.Config)
	shard.ready("there")

	// No applier executes the graph.
	main.merge("here", `{"metadata": {"labels": {"`+key+`": "none"}}}`)
	changed := main.apply(main.rendered("here", nodes(configMap("a", "here", "2"))))
	for name, of := range map[string]*env{"witness": main, "witness1": &shard} {
		rg := main.rendered(name, nodes(configMap("a", name, "1")))
		if of == &shard {
			rg.Labels = map[string]string{key: "shard1"}
		}
		main.apply(rg)
		main.ready(name) // the appliers have seen that the other graph left
	}
	left, err := main.get(t.Context(), "here")
	switch {
	case err != nil:
		t.Fatal(err)
	case !slices.Equal(left.Finalizers, changed.Finalizers) || len(left.Finalizers) == 0:
		t.Errorf("finalizers: %v, before %v", left.Finalizers, changed.Finalizers)
	case left.Status.ObservedGeneration == left.Generation || main.data(t.Context(), "here") != "1":
		t.Error("the graph was executed after its labels had changed")
	}
	main.remove("here")
	main.remove("witness")
	main.gone("witness")
	if rg, err := main.get(t.Context(), "here"); err != nil || len(rg.Finalizers) == 0 || !main.exists(t.Context(), "v1", "ConfigMap", "here") {
		t.Errorf("the graph doesn't wait for its applier: %v", err)
	}

	// The other applier takes it over.
	main.merge("here", `{"metadata": {"labels": {"`+key+`": "shard1"}}}`)
	main.gone("here")
	main.wantExists(false, "v1", "ConfigMap", "here")
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
