package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// transformAccount makes the account of a Transform, which is in a namespace of its own and
// may do anything in the test's namespace.
func (b *env) transformAccount() types.NamespacedName {
	b.t.Helper()
	a := types.NamespacedName{Namespace: b.Unique("manager"), Name: "pequod-transform-web"}
	b.Apply(b.t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+a.Namespace+"}}")
	b.t.Cleanup(func() {
		if err := b.Client.CoreV1().Namespaces().Delete(b.background(), a.Namespace, metav1.DeleteOptions{}); err != nil {
			b.t.Log(err)
		}
	})
	b.ServiceAccount(b.t, a.Namespace, a.Name)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "transform"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: a.Name, Namespace: a.Namespace}},
	}
	if _, err := b.Client.RbacV1().RoleBindings(b.Namespace).Create(b.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// operated labels a graph as one of pequod-manager.
func operated(rg *v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph {
	rg.Labels = map[string]string{v1alpha1.LabelOperator: "true"}
	return rg
}

// TestManagedElsewhere runs the controllers of pequod-applier and of pequod-manager beside
// each other, with twenty graphs each that change and drift again and again. Neither may
// ever write a graph or an object of the other's.
func TestManagedElsewhere(t *testing.T) {
	t.Parallel()
	const graphs, rounds = 20, 8
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	manager := *b
	// One selector applies to both.
	b.options.Selector = selector(t, "!example.com/none")
	manager.options = controller.Options{Namespace: b.Namespace, Selector: b.options.Selector, Operator: &controller.Operator{
		Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) { return account, nil },
	}}
	proxies := map[string]*faults.Proxy{"applied": b.Proxy(t, 1), "operated": b.Proxy(t, 2)}
	b.start(proxies["applied"].Config(b.applierConfig()))
	manager.start(proxies["operated"].Config(b.Config))
	make := map[string]func(*v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph{
		"applied": func(rg *v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph { return rg }, "operated": operated,
	}
	all := func(f func(program, name string)) {
		for i := range graphs {
			for program := range make {
				f(program, fmt.Sprintf("%s-%d", program, i))
			}
		}
	}
	for round := range rounds {
		value := fmt.Sprint(round)
		all(func(program, name string) {
			b.apply(make[program](b.rendered(name, nodes(configMap("a", name, value), configMap("b", name+"-b", value)))))
		})
		all(func(_, name string) { b.ready(name) })
		all(func(_, name string) { b.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"drift"}}`) })
		all(func(_, name string) {
			b.eventually(name+" is corrected", func(ctx ctx) bool { return b.data(ctx, name) == value })
		})
	}
	all(func(_, name string) { b.remove(name) })
	all(func(_, name string) { b.gone(name) })
	user := "system:serviceaccount:" + account.Namespace + ":" + account.Name
	for program, proxy := range proxies {
		writes := 0
		for _, r := range proxy.Requests() {
			if strings.HasPrefix(r.Resource, "events") || !r.Write() {
				continue
			}
			writes++
			if r.Name != "" && !strings.HasPrefix(r.Name, program) {
				t.Errorf("the program of the graphs %s-* sent %s %s %s", program, r.Verb, r.Resource, r.Name)
			}
			if own := strings.HasPrefix(r.Resource, "resourcegraphs"); !own && (r.As == user) != (program == "operated") {
				t.Errorf("%s %s %s as %q", r.Verb, r.Resource, r.Name, r.As)
			}
		}
		if writes < graphs*rounds*4 { // two objects, a status and a correction
			t.Errorf("%s: only %d writes", program, writes)
		}
	}
}

// TestLabelMovesGraph moves a graph from pequod-applier to pequod-manager by its label: the
// objects stay, and the status is that of the manager from then on.
func TestLabelMovesGraph(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	manager := *b
	manager.options = controller.Options{Namespace: b.Namespace, Operator: &controller.Operator{
		Account: func(rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
			if rg.Annotations[v1alpha1.AnnotationAccount] == "" {
				return types.NamespacedName{}, errors.New("no account")
			}
			return account, nil
		},
	}}
	b.start(b.Config)
	manager.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "web", "1"))))
	b.ready("web")
	uid := b.uid("web")
	b.merge("web", `{"metadata": {"labels": {"pequod.io/managed-by-operator": "true"}}}`)
	b.until("web", condition("Stalled", "True", "NoServiceAccount", "no account"))
	changed := operated(b.rendered("web", nodes(configMap("a", "web", "2"))))
	changed.Annotations = map[string]string{v1alpha1.AnnotationAccount: account.Name}
	b.apply(changed)
	b.ready("web")
	if b.data(t.Context(), "web") != "2" || b.uid("web") != uid {
		t.Error("the object wasn't taken over")
	}
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "web")
}

// TestAccountRefused checks that no graph is executed as the account of a Transform while
// that is refused: a graph is stalled, one that is deleted waits, and both continue when
// it is allowed again. A graph that names an account of its namespace is executed.
func TestAccountRefused(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	var why atomic.Pointer[string]
	changed := make(chan struct{}, 1)
	refuse := func(text string) {
		why.Store(&text)
		changed <- struct{}{}
	}
	refuse("")
	b.options = controller.Options{Namespace: b.Namespace, Resync: time.Hour, Operator: &controller.Operator{
		Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) { return account, nil },
		Refused: func() string { return *why.Load() }, Changed: changed,
	}}
	b.start(b.Config)
	b.apply(operated(b.rendered("old", nodes(configMap("a", "old", "1")))))
	b.ready("old")

	refuse("the policy is missing")
	b.apply(operated(b.rendered("new", nodes(configMap("a", "new", "1")))))
	b.until("new", condition("Stalled", "True", "ServiceAccountRefused", "the policy is missing"))
	b.apply(operated(b.rendered("own", nodes(configMap("a", "own", "1")), as("pequod"))))
	b.ready("own")
	b.remove("old")
	b.apply(operated(b.rendered("own", nodes(configMap("a", "own", "2")), as("pequod"))))
	b.ready("own") // the deletion was seen before
	b.wantExists(true, "v1", "ConfigMap", "old")
	b.wantExists(false, "v1", "ConfigMap", "new")
	if _, err := b.get(t.Context(), "old"); err != nil {
		t.Errorf("a graph was deleted without its objects: %v", err)
	}

	refuse("")
	b.ready("new")
	b.gone("old")
	b.wantExists(false, "v1", "ConfigMap", "old")
}

// TestHandOverOfManager moves an object between graphs of pequod-manager, whose account is in another
// namespace: first out of a graph, and then by its deletion.
func TestHandOverOfManager(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	b.options = controller.Options{Namespace: b.Namespace, PruneGrace: time.Hour, Operator: &controller.Operator{
		Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) { return account, nil },
	}}
	b.start(b.Config)
	moved, kept := configMap("m", "moved", "1"), configMap("k", "kept", "1")
	b.apply(operated(b.rendered("from", nodes(moved, kept))))
	b.ready("from")
	uids := []string{b.uid("moved"), b.uid("kept")}
	b.apply(operated(b.rendered("from", nodes(kept))))
	b.apply(operated(b.rendered("to", nodes(moved, kept))))
	b.until("to", condition("Stalled", "True", "OwnedElsewhere", ""))
	b.eventually("moved is handed over", func(ctx ctx) bool { return b.label(ctx, "moved") == "to" })
	b.remove("from")
	b.gone("from")
	b.ready("to")
	if got := []string{b.uid("moved"), b.uid("kept")}; !slices.Equal(got, uids) || b.label(t.Context(), "kept") != "to" {
		t.Errorf("UIDs %v; were %v", got, uids)
	}
}
