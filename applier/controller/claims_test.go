package controller_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// A tenant who may write graphs, or ConfigMaps, could list an object of another graph to
// keep it from being deleted. Only a graph that is executed and whose account may
// write the object takes it.
func TestListingAnObjectDoesNotKeepIt(t *testing.T) {
	t.Parallel()
	inventoryOf := func(b *env, text string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: pequod-inventory-ghost, labels: {pequod.io/inventory: "true"}}, data: {` + text + `}}`
	}
	for name, prepare := range map[string]func(b *env){
		"suspended graph": func(b *env) {
			b.apply(b.rendered("squat", nodes(configMap("v", "victim", "1")), func(s *v1alpha1.ResourceGraphSpec) { s.Suspend = true }))
			b.until("squat", condition("Ready", "Unknown", "", ""))
		},
		"paused graph": func(b *env) {
			rg := b.rendered("squat", nodes(configMap("v", "victim", "1")))
			rg.Labels = map[string]string{v1alpha1.LabelPaused: "true"}
			b.apply(rg)
			b.until("squat", condition("Ready", "Unknown", "", ""))
		},
		"graph that is being deleted": func(b *env) {
			rg := b.rendered("squat", nodes(configMap("v", "victim", "1")))
			rg.Finalizers = []string{"example.com/hold"}
			b.apply(rg)
			b.until("squat", condition("Stalled", "True", "OwnedElsewhere", ""))
			b.remove("squat")
			b.t.Cleanup(func() {
				_, err := b.graphs().Patch(b.background(), "squat", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				if err != nil {
					b.t.Log(err)
				}
			})
		},
		"graph of a weak account": func(b *env) {
			b.account("weak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}})
			b.apply(b.rendered("squat", nodes(configMap("v", "victim", "1")), as("weak")))
			b.until("squat", condition("Stalled", "True", "", ""))
		},
		"graph without an account": func(b *env) {
			b.apply(b.rendered("squat", nodes(configMap("v", "victim", "1")), as("nobody")))
			b.until("squat", condition("Stalled", "True", "ServiceAccountMissing", ""))
		},
		"invalid graph": func(b *env) {
			b.apply(b.rendered("squat", nodes(configMap("v", "victim", "1"), configMap("w", "w", "1", "nothing"))))
			b.until("squat", condition("Stalled", "True", "Invalid", ""))
		},
		"inventory of no graph": func(b *env) {
			b.Apply(t, inventoryOf(b, `inventory: '{"format":1,"namespace":"`+b.Namespace+`","graph":"ghost","revision":"sha256:0",
				"objects":[{"group":"","version":"v1","kind":"ConfigMap","namespace":"`+b.Namespace+`","items":[{"name":"victim","node":"x"}]}]}'`))
		},
		"broken inventory": func(b *env) { b.Apply(t, inventoryOf(b, "")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newEnv(t)
			b.apply(b.rendered("team", nodes(configMap("v", "victim", "1"), configMap("k", "kept", "1"))))
			b.ready("team")
			prepare(b)
			b.apply(b.rendered("team", nodes(configMap("k", "kept", "1"))))
			b.ready("team")
			b.eventually("deleted", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "victim") })
			b.remove("team")
			b.gone("team")
			b.wantExists(false, "v1", "ConfigMap", "kept")
		})
	}
}

// An object passes to a graph of another account, as that account.
func TestHandOverToAnotherAccount(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.account("strong", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	b.apply(b.rendered("from", nodes(configMap("m", "moved", "1"), configMap("k", "kept", "1"))))
	b.ready("from")
	uid := b.uid("moved")
	b.apply(b.rendered("to", nodes(configMap("m", "moved", "1")), as("strong")))
	b.until("to", condition("Stalled", "True", "OwnedElsewhere", ""))
	b.apply(b.rendered("from", nodes(configMap("k", "kept", "1"))))
	b.ready("from")
	b.ready("to")
	if b.uid("moved") != uid || b.label(t.Context(), "moved") != "to" {
		t.Errorf("UID %s, label %s; want %s and to", b.uid("moved"), b.label(t.Context(), "moved"), uid)
	}
	object := "ConfigMap " + b.Namespace + "/moved was "
	b.event("from", "HandedOver", object+"handed over to graph "+b.Namespace+"/to")
	b.event("to", "HandedOver", object+"taken over from graph "+b.Namespace+"/from")
}
