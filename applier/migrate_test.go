package applier_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/test/harness"
)

// versionedDefinition returns a CustomResourceDefinition of Boxes with these versions.
// The last one is stored. V2 may have a field with a default, which v1 doesn't have.
func versionedDefinition(group, versions string, defaulted bool) string {
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Box, plural: boxes, singular: box, listKind: BoxList}
  versions:`
	names := strings.Fields(versions)
	for i, name := range names {
		properties := "a: {type: string}, b: {type: string}"
		if name == "v2" && defaulted {
			properties += ", policy: {type: string, default: open}"
		}
		text += fmt.Sprintf(`
  - name: %s
    served: true
    storage: %t
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}`,
			name, i == len(names)-1, properties)
	}
	return text
}

// agedBox makes a Box x that others wrote in an API version without the field policy,
// which the stored version v2 got later, with a default. The API server refuses to
// apply such an object until the managedFields of all managers are of version v2:
// https://github.com/fluxcd/flux2/issues/5715.
func (b *env) agedBox(graph *v1alpha1.ResourceGraph, group string) {
	b.t.Helper()
	b.Cluster.Apply(b.t, versionedDefinition(group, "v1", false))
	b.complete(graph)
	if _, err := b.resource(group+"/v1", "Box").Patch(b.t.Context(), "x", types.MergePatchType,
		[]byte(`{"status":{"phase":"Fine"}}`), metav1.PatchOptions{FieldManager: "box-controller"}, "status"); err != nil {
		b.t.Fatal(err)
	}
	b.patch(group+"/v1", "Box", "x", "other", `{"spec":{"b":"theirs"}}`)
	b.Cluster.Apply(b.t, versionedDefinition(group, "v1 v2", false))
	b.eventually("v2 is served", func(ctx context.Context) bool {
		_, err := b.resource(group+"/v2", "Box").Get(ctx, "x", metav1.GetOptions{})
		return err == nil
	})
	b.patch(group+"/v2", "Box", "x", "storage-migrator", `{"metadata":{"annotations":{"stored":"as v2"}}}`)
	b.Cluster.Apply(b.t, versionedDefinition(group, "v1 v2", true))
	b.eventually("the default is set", func(context.Context) bool { return b.value(group+"/v2", "Box", "x", "spec.policy") == "open" })
}

// TestNewVersionWithDefault checks that an object is applied whose other managers wrote
// it in an older API version, and that its managedFields are migrated once and only then.
// Plans predict it without a write.
func TestNewVersionWithDefault(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	group := b.Unique("example") + ".com"
	graph := func(version, spec string) *v1alpha1.ResourceGraph {
		return b.graph("g", `nodes: [{id: box, resource: {apiVersion: `+group+`/`+version+`, kind: Box, metadata: {name: x}, spec: `+spec+`}}]`)
	}
	b.agedBox(graph("v1", `{a: "1"}`), group)
	// requests returns how a run read and wrote the object.
	requests := func(run func()) string {
		seen := len(proxy.Requests())
		run()
		var verbs []string
		for _, r := range proxy.Requests()[seen:] {
			if r.Resource == "boxes."+group && r.Verb != "list" && r.Verb != "watch" {
				verbs = append(verbs, r.Verb)
			}
		}
		return strings.Join(verbs, " ")
	}

	// A mistake in the graph has a similar error, and is none of the managers'.
	before := b.Get(t, group+"/v2", "Box", "x")
	mistake := graph("v2", `{a: "2", nope: "x"}`)
	if got := requests(func() { b.stuck(mistake, "box", engine.ReasonInvalid, "spec.nope: field not declared in schema") }); got != "apply" {
		t.Errorf("a mistake: %s; want one apply", got)
	}
	next := graph("v2", `{a: "2"}`)
	plan, err := b.applier.Plan(t.Context(), next, applier.PlanOptions{Options: b.options.Options})
	if err != nil {
		t.Fatal(err)
	}
	if n := plan.Nodes[0]; n.Failure != nil || n.Op != engine.Configured || !strings.Contains(n.Unchecked, "an older API version") {
		t.Errorf("plan: %q %+v, unchecked: %q", n.Op, n.Failure, n.Unchecked)
	}
	if after := b.Get(t, group+"/v2", "Box", "x"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the object was written")
	}

	if got := requests(func() { b.wantOps(b.complete(next), "box configured") }); got != "apply get patch apply" {
		t.Errorf("the migration: %s; want apply get patch apply", got)
	}
	b.wantValue(group+"/v2", "Box", "x", "spec", map[string]any{"a": "2", "b": "theirs", "policy": "open"})
	managers := map[string]bool{}
	for _, entry := range b.Get(t, group+"/v2", "Box", "x").GetManagedFields() {
		managers[entry.Manager] = true
		if entry.APIVersion != group+"/v2" {
			t.Errorf("%s still has fields in %s", entry.Manager, entry.APIVersion)
		}
	}
	for _, manager := range []string{"box-controller", "other", "storage-migrator", engine.FieldManager} {
		if !managers[manager] {
			t.Errorf("%s owns nothing any more", manager)
		}
	}
	if got := requests(func() { b.wantOps(b.complete(graph("v2", `{a: "3"}`)), "box configured") }); got != "apply" {
		t.Errorf("afterwards: %s; want one apply", got)
	}
}
