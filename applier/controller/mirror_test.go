package controller_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// What is mirrored carries no label of the graph: it is watched by name, followed,
// and never written.
func TestMirrorIsFollowed(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: "1"}}`)
	mirror := func(s *v1alpha1.ResourceGraphSpec) {
		s.Adopt = &v1alpha1.Adopt{
			Mode: v1alpha1.AdoptExplicit, Strategy: v1alpha1.AdoptMirror,
			Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs"}},
		}
	}
	b.apply(b.rendered("web", nodes(configMap("theirs", "theirs", "ours"),
		`{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: theirs.data.a}}}}`), mirror))
	rg := b.ready("web")
	if got, want := owned(rg), "ConfigMap copy"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	for _, value := range []string{"2", "3"} { // at rest, too
		b.patch("v1", "ConfigMap", "theirs", "somebody", `{"data":{"a":"`+value+`"}}`)
		b.eventually("followed", func(ctx ctx) bool { return b.data(ctx, "copy") == value })
		b.ready("web")
	}
	if got := b.data(t.Context(), "theirs"); got != "3" {
		t.Errorf("what is mirrored says %q; somebody said 3", got)
	}
	// It goes, and comes again.
	if err := b.resource("v1", "ConfigMap").Delete(t.Context(), "theirs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("web", condition("Ready", "Unknown", "Progressing", "theirs: ConfigMap "+b.Namespace+"/theirs doesn't exist"))
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: "4"}}`)
	b.ready("web")
	b.eventually("followed", func(ctx ctx) bool { return b.data(ctx, "copy") == "4" })
	b.remove("web")
	b.gone("web")
	b.wantExists(true, "v1", "ConfigMap", "theirs")
}

// One worker is enough for any number of graphs that wait.
func TestWaitingBlocksNoOthers(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Concurrent = 1
	b.start(b.Config)
	waiting := []string{"w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9"} // more than its requests at once
	for _, name := range waiting {
		b.apply(b.rendered(name, nodes(`{id: slow, resource: {apiVersion: v1, kind: Pod, metadata: {name: `+name+`, annotations: {testcluster.pequod.io/ready-after: never}}, spec: {containers: [{name: a, image: a}]}}}`)))
	}
	b.eventually("applied", func(ctx ctx) bool {
		return !slices.ContainsFunc(waiting, func(name string) bool { return !b.exists(ctx, "v1", "Pod", name) })
	})
	b.apply(b.rendered("web", webService))
	b.ready("web")
	for _, name := range waiting {
		b.until(name, condition("Reconciling", "True", "Progressing", ""))
	}
}
