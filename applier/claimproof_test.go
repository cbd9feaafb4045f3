package applier_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

// forge writes an inventory of a graph that lists a ConfigMap, as a user could who may
// write ConfigMaps and nothing else.
func (b *env) forge(graph, name string) {
	b.t.Helper()
	b.Apply(b.t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: pequod-inventory-`+graph+`, labels: {pequod.io/inventory: "true", pequod.io/managed: "true",
		pequod.io/graph: `+graph+`, pequod.io/graph-namespace: `+b.Namespace+`}}, data: {inventory: '{"format":1,"namespace":"`+b.Namespace+`","graph":"`+graph+`",
		"revision":"sha256:0","objects":[{"group":"","version":"v1","kind":"ConfigMap","namespace":"`+b.Namespace+`","items":[{"name":"`+name+`","node":"x"}]}]}'}}`)
}

// An inventory that lists an object of another graph keeps it neither from being pruned
// nor from being deleted.
func TestForgedInventory(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	both := `nodes: [` + configMap("a", "a", "1") + `, ` + configMap("b", "b", "1") + `]`
	only := `nodes: [` + configMap("b", "b", "1") + `]`
	b.complete(b.graph("g", both))
	b.forge("ghost", "a")
	plan, err := b.applier.Plan(t.Context(), b.graph("g", only), applier.PlanOptions{Options: engine.Options{Prune: true}})
	if err != nil || len(plan.Removals) != 1 || plan.Removals[0].Op != engine.Deleted || plan.Removals[0].Failure != nil {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	b.wantOps(b.complete(b.graph("g", only)), "b unchanged, a deleted")
	b.forge("ghost2", "b")
	b.wantOps(b.delete("g"), "b deleted")
	b.wantExists("v1", "ConfigMap", false, "a", "b")
}

// The claim of a user who may not change the object doesn't count, and its status says
// so.
func TestClaimWithoutRights(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("from", `nodes: [`+configMap("c", "c", "1")+`, `+configMap("d", "d", "1")+`]`))
	weak := envOn(t, b.Cluster, b.ServiceAccount(t, b.Namespace, "weak"))
	b.allow("weak",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"pequod-inventory-to"}, Verbs: []string{"patch", "update", "delete"}})
	weak.eventually("the account has its rights", func(ctx context.Context) bool {
		_, err := weak.applier.Inventories.List(ctx, b.Namespace)
		return err == nil
	})
	weak.stuck(b.graph("to", `nodes: [`+configMap("c", "c", "2")+`]`), "c", engine.ReasonOwnedElsewhere,
		"spec.adopt.resources; claiming it, so that it isn't deleted then, failed: ")
	if last := weak.events[len(weak.events)-1]; !strings.Contains(last.Message, "claiming it") {
		t.Errorf("the last report is %q", last.Message)
	}
	b.wantOps(b.complete(b.graph("from", `nodes: [`+configMap("d", "d", "1")+`]`)), "d unchanged, c deleted")
}

// allow grants rights in the test's namespace to a service account of it.
func (b *env) allow(account string, rules ...rbacv1.PolicyRule) {
	b.t.Helper()
	roles := b.Client.RbacV1()
	_, err := roles.Roles(b.Namespace).Create(b.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: rules}, metav1.CreateOptions{})
	if err == nil {
		_, err = roles.RoleBindings(b.Namespace).Create(b.t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: account},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: b.Namespace}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Of the ResourceGraphs in the cluster, only those take an object that are executed and
// whose account may change it.
func TestClaimsOfResourceGraphs(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t) // with a CRD that other tests must not see
	b := envOn(t, c, c.Config)
	definition, err := os.ReadFile(filepath.Join("..", "config", "crd", "platform.pequod.io_resourcegraphs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(t, string(definition))
	b.ServiceAccount(t, b.Namespace, "strong")
	b.allow("strong", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}})
	b.eventually("the account has its rights", func(ctx context.Context) bool {
		key := inventory.Key{Kind: "ConfigMap", Namespace: b.Namespace, Name: "x"}
		may, err := b.applier.Client.MayPatch(ctx, key, "v1", b.Namespace, "strong")
		return err == nil && may
	})
	manifest := func(name, spec, object string) string {
		return `{apiVersion: platform.pequod.io/v1alpha1, kind: ResourceGraph, metadata: {name: ` + name + `}, spec: {` + spec + `
			sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Web, name: web}, platformRef: {module: web}, renderHash: x,
			graph: {nodes: [{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ` + object + `}}}]}}}`
	}
	// The others are on the second page of the list.
	var first []string
	for i := range 500 {
		first = append(first, manifest(fmt.Sprintf("first-%03d", i), "suspend: true,", "none"))
	}
	b.Apply(t, strings.Join(first, "\n---\n"))
	stay := configMap("stays", "stays", "x")
	for name, test := range map[string]struct {
		spec, node string
		want       string // what happens to the object
	}{
		"strong":    {"serviceAccountName: strong", "c", "released"},
		"weak":      {"serviceAccountName: weak", "c", "deleted"},
		"unnamed":   {"", "c", "deleted"},
		"suspended": {"serviceAccountName: strong, suspend: true", "c", "deleted"},
		"other":     {"serviceAccountName: strong", "other", "deleted"},
		"invalid":   {"serviceAccountName: strong", `c, labels: {pequod.io/graph: x}`, "deleted"},
	} {
		b.complete(b.graph("from-"+name, `nodes: [`+configMap("c", "c-"+name, "1")+`, `+strings.ReplaceAll(stay, "stays", "stays-"+name)+`]`))
		spec := test.spec
		if spec != "" {
			spec += ", "
		}
		b.Apply(t, manifest(name, spec, strings.Replace(test.node, "c", "c-"+name, 1)))
		if test.want == "deleted" {
			b.forge(name, "c-"+name) // an inventory doesn't add to the claim of the spec
		}
		result := b.complete(b.graph("from-"+name, `nodes: [`+strings.ReplaceAll(stay, "stays", "stays-"+name)+`]`))
		b.wantOps(result, "stays-"+name+" unchanged, c-"+name+" "+test.want)
		if test.want == "released" && b.value("v1", "ConfigMap", "c-"+name, "metadata.labels[\"pequod.io/graph\"]") != name {
			t.Errorf("the object of %s: %v", name, b.Get(t, "v1", "ConfigMap", "c-"+name).GetLabels())
		}
	}
}
