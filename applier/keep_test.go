package applier_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// keepMarks are the annotations and labels with which users tell other tools to keep an
// object, with the message of the result.
var keepMarks = []struct{ field, name, value, said string }{
	{"annotations", "client.lifecycle.config.k8s.io/deletion", "detach", "annotated client.lifecycle.config.k8s.io/deletion: detach"},
	{"annotations", "cli-utils.sigs.k8s.io/on-remove", "keep", "annotated cli-utils.sigs.k8s.io/on-remove: keep"},
	{"annotations", "kustomize.toolkit.fluxcd.io/prune", "disabled", "annotated kustomize.toolkit.fluxcd.io/prune: disabled"},
	{"annotations", "kustomize.toolkit.fluxcd.io/reconcile", "disabled", "annotated kustomize.toolkit.fluxcd.io/reconcile: disabled"},
	{"annotations", "helm.sh/resource-policy", "keep", "annotated helm.sh/resource-policy: keep"},
	{"annotations", "argocd.argoproj.io/sync-options", "Validate=false,Prune=false", "annotated argocd.argoproj.io/sync-options: Prune=false"},
	{"annotations", "argocd.argoproj.io/sync-options", "Delete=false", "annotated argocd.argoproj.io/sync-options: Delete=false"},
	{"annotations", "argocd.argoproj.io/sync-options", "Delete=confirm", "annotated argocd.argoproj.io/sync-options: Delete=confirm"},
	{"labels", "kustomize.toolkit.fluxcd.io/prune", "disabled", "labeled kustomize.toolkit.fluxcd.io/prune: disabled"},
}

// mark sets an annotation or, with the field "labels", a label.
func (b *env) mark(object, field, name, value string) {
	b.t.Helper()
	b.patch("v1", "ConfigMap", object, "kubectl-annotate", fmt.Sprintf(`{"metadata":{%q:{%q:%q}}}`, field, name, value))
}

// wantReleased checks that a ConfigMap exists and is the graph's in no way.
func (b *env) wantReleased(name string) {
	b.t.Helper()
	obj := b.Get(b.t, "v1", "ConfigMap", name)
	for label := range obj.GetLabels() {
		if strings.HasPrefix(label, "pequod.io/") {
			b.t.Errorf("%s: label %s; want none of a graph", name, label)
		}
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == engine.FieldManager {
			b.t.Errorf("%s: %s still holds fields: %s", name, entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
}

// An object that is annotated to be kept is released when it leaves its graph, and
// when the graph is deleted. The plan and the result name the annotation.
func TestKeepAnnotations(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	stays, all := configMap("stays", "stays", "1"), ""
	for i := range keepMarks {
		for _, way := range []string{"prune", "delete"} {
			name := fmt.Sprintf("%s-%d", way, i)
			all += ", " + configMap(name, name, "1")
		}
	}
	b.complete(b.graph("g", "nodes: ["+stays+all+", "+configMap("plain", "plain", "1")+"]"))
	deleted := ""
	for i, keep := range keepMarks {
		b.mark(fmt.Sprintf("prune-%d", i), keep.field, keep.name, keep.value)
		b.mark(fmt.Sprintf("delete-%d", i), keep.field, keep.name, keep.value)
		name := fmt.Sprintf("delete-%d", i)
		deleted += ", " + configMap(name, name, "1")
	}
	pruned := b.graph("g", "nodes: ["+stays+deleted+"]")

	plan, err := b.applier.Plan(t.Context(), pruned, applier.PlanOptions{Options: b.options.Options})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, r := range plan.Removals {
		kept[r.Key.Name] = string(r.Op) + " " + r.Kept
	}
	check := func(way string, result *applier.Result) {
		t.Helper()
		for i, keep := range keepMarks {
			name := fmt.Sprintf("%s-%d", way, i)
			b.wantReleased(name)
			s := leftStatus(result, name)
			if want := keep.said; s.Op != engine.Released || s.Reason != engine.ReasonKept || s.Message != want {
				t.Errorf("%s: %s %s %q; want released, %q", name, s.Op, s.Reason, s.Message, want)
			}
		}
	}
	check("prune", b.complete(pruned))
	for i, keep := range keepMarks {
		if got, want := kept[fmt.Sprintf("prune-%d", i)], "released "+keep.said; got != want {
			t.Errorf("plan: %q; want %q", got, want)
		}
	}
	if got := kept["plain"]; got != "deleted " {
		t.Errorf("plan: plain is %q; want deleted", got)
	}
	b.wantExists("v1", "ConfigMap", false, "plain")

	check("delete", b.delete("g"))
	b.wantExists("v1", "ConfigMap", false, "stays")
	b.wantOwned("g", "")
}

// leftStatus returns the status of an object that left its graph.
func leftStatus(result *applier.Result, name string) engine.Status {
	for _, s := range result.Statuses {
		if s.ID == "" && s.Key.Name == name {
			return s
		}
	}
	return engine.Status{}
}

// The decision and the deletion are one: an annotation that an object gets after it
// was judged prevents its deletion, and one that it loses prevents its release.
func TestKeepAnnotationsAtTheLastMoment(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	owner := inventory.Owner{Namespace: b.Namespace, Name: "g"}
	b.complete(b.graph("g", "nodes: ["+configMap("a", "a", "1")+"]"))
	remove := func(verb engine.Verb, kept string, meanwhile string) error {
		judged := b.Get(t, "v1", "ConfigMap", "a")
		b.patch("v1", "ConfigMap", "a", "other", `{"metadata":{"annotations":{`+meanwhile+`}}}`)
		return b.applier.Client.Do(t.Context(), owner.Selector(), engine.Action{
			Verb: verb, Key: engine.KeyOf(judged), Version: "v1", UID: judged.GetUID(), ResourceVersion: judged.GetResourceVersion(), Kept: kept,
		}).Err
	}
	wantChanged := func(err error) {
		t.Helper()
		var f *engine.Failure
		if !errors.As(err, &f) || f.Reason != engine.ReasonKeepChanged || f.Terminal {
			t.Errorf("error %v; want %s", err, engine.ReasonKeepChanged)
		}
		b.wantValue("v1", "ConfigMap", "a", "metadata.labels", map[string]any(labelsOf(owner)))
	}
	wantChanged(remove(engine.Delete, "", `"helm.sh/resource-policy":"keep"`))
	wantChanged(remove(engine.Release, "annotated helm.sh/resource-policy: keep", `"helm.sh/resource-policy":null`))
	if err := remove(engine.Delete, "", `"example.com/any":"thing"`); err != nil {
		t.Error(err)
	}
	b.wantExists("v1", "ConfigMap", false, "a")
}

func labelsOf(owner inventory.Owner) map[string]any {
	labels := map[string]any{}
	for name, value := range owner.Labels() {
		labels[name] = value
	}
	return labels
}

// An object that is annotated to be kept isn't deleted to recreate it either. When
// the annotation is removed, it is.
func TestKeepAnnotationsPreventRecreation(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	fixed := func(value string) string {
		return strings.Replace(configMap("a", "a", value), `{"id"`, `{"applyPolicy":{"recreate":"OnImmutable"},"id"`, 1)
	}
	b.complete(b.graph("g", "nodes: ["+fixed("1")+"]"))
	b.patch("v1", "ConfigMap", "a", "other", `{"immutable":true,"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	uid := b.Get(t, "v1", "ConfigMap", "a").GetUID()
	next := b.graph("g", "nodes: ["+fixed("2")+"]")
	const said = "isn't deleted to recreate it, because it is annotated helm.sh/resource-policy: keep: data: Forbidden: field is immutable"
	plan, err := b.applier.Plan(t.Context(), next, applier.PlanOptions{Options: b.options.Options})
	if err != nil {
		t.Fatal(err)
	}
	if f := plan.Nodes[0].Failure; f == nil || !strings.Contains(f.Message, said) {
		t.Errorf("plan: %v; want %q", f, said)
	}
	b.stuck(next, "a", engine.ReasonImmutable, said)
	if got := b.Get(t, "v1", "ConfigMap", "a"); got.GetUID() != uid {
		t.Error("it was recreated")
	}
	b.patch("v1", "ConfigMap", "a", "other", `{"metadata":{"annotations":{"helm.sh/resource-policy":null}}}`)
	b.wantOps(b.complete(next), "a recreated")
}
