package rbac

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// rightLines returns rights as lines: node, escalation and right.
func rightLines(rights []NodeRight) (lines []string) {
	for _, r := range rights {
		mark := ": "
		if r.Escalation {
			mark = "! "
		}
		lines = append(lines, r.Node+mark+r.String())
	}
	return lines
}

func TestRights(t *testing.T) {
	widgets := Resources{
		schema.GroupKind{Group: "example.com", Kind: "Widget"}: {Name: "widgets", Namespaced: true},
	}
	for _, test := range []struct {
		name, nodes, spec string
		want              []string
	}{
		{name: "by name, without the rights to find out causes", nodes: `
- {id: web, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
- {id: again, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: other}}, applyPolicy: {deletionPolicy: Orphan}}
`, want: []string{
			"web: get deployments.apps/web -n shop", "web: create deployments.apps/web -n shop",
			"web: patch deployments.apps/web -n shop", "web: delete deployments.apps/web -n shop",
			"again: get configmaps/web -n other", "again: create configmaps/web -n other", "again: patch configmaps/web -n other",
		}},
		{name: "reads", nodes: `
- {id: given, externalRef: {apiVersion: v1, kind: Secret, name: admin, namespace: other}}
`, want: []string{
			"given: get secrets/admin -n other", "given: list secrets/admin -n other", "given: watch secrets/admin -n other",
		}},
		{name: "roles", nodes: `
- {id: role, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}, rules: [
    {apiGroups: ["", apps], resources: [pods/log], verbs: [get], resourceNames: [a]}, {nonResourceURLs: [/metrics, "*"], verbs: [get]}]}}
- {id: bound, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: {kind: ClusterRole, name: view}}}
- {id: hidden, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: hidden}, rules: {$from: web.data.rules}}}
- {id: hides, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: hides}, roleRef: {kind: Role, name: {$from: web.data.role}}}}
- {id: sum, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: sum}, aggregationRule: {}}}
`, want: []string{
			"role: get clusterroles.rbac.authorization.k8s.io/web", "role: create clusterroles.rbac.authorization.k8s.io/web",
			"role: patch clusterroles.rbac.authorization.k8s.io/web", "role: delete clusterroles.rbac.authorization.k8s.io/web",
			"role! get pods/a --subresource=log", "role! get pods.apps/a --subresource=log", "role! get /metrics", "role! get *",
			"bound! bind clusterroles.rbac.authorization.k8s.io/view -n shop",
			"bound: get rolebindings.rbac.authorization.k8s.io/web -n shop", "bound: create rolebindings.rbac.authorization.k8s.io/web -n shop",
			"bound: patch rolebindings.rbac.authorization.k8s.io/web -n shop", "bound: delete rolebindings.rbac.authorization.k8s.io/web -n shop",
			"hidden: get roles.rbac.authorization.k8s.io/hidden -n shop", "hidden: create roles.rbac.authorization.k8s.io/hidden -n shop",
			"hidden: patch roles.rbac.authorization.k8s.io/hidden -n shop", "hidden: delete roles.rbac.authorization.k8s.io/hidden -n shop",
			"hidden! escalate roles.rbac.authorization.k8s.io/hidden -n shop",
			"hides: get rolebindings.rbac.authorization.k8s.io/hides -n shop", "hides: create rolebindings.rbac.authorization.k8s.io/hides -n shop",
			"hides: patch rolebindings.rbac.authorization.k8s.io/hides -n shop", "hides: delete rolebindings.rbac.authorization.k8s.io/hides -n shop",
			"hides! bind clusterroles.rbac.authorization.k8s.io -n shop", "hides! bind roles.rbac.authorization.k8s.io -n shop",
			"sum: get clusterroles.rbac.authorization.k8s.io/sum", "sum: create clusterroles.rbac.authorization.k8s.io/sum",
			"sum: patch clusterroles.rbac.authorization.k8s.io/sum", "sum: delete clusterroles.rbac.authorization.k8s.io/sum",
			"sum! escalate clusterroles.rbac.authorization.k8s.io/sum",
		}},
		{name: "keys of other case are not those of the API server", nodes: `
- {id: bound, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: {kind: ClusterRole, name: admin}, roleref: {name: view}}, applyPolicy: {deletionPolicy: Orphan}}
`, want: []string{
			"bound! bind clusterroles.rbac.authorization.k8s.io/admin -n shop",
			"bound: get rolebindings.rbac.authorization.k8s.io/web -n shop", "bound: create rolebindings.rbac.authorization.k8s.io/web -n shop",
			"bound: patch rolebindings.rbac.authorization.k8s.io/web -n shop",
		}},
		{name: "a definition in the graph does not rename a kind of the cluster", nodes: `
- {id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: mine.example.com},
    spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: mine}}}}
- {id: w, resource: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}, applyPolicy: {deletionPolicy: Orphan}}
`, want: []string{
			"crd: get customresourcedefinitions.apiextensions.k8s.io/mine.example.com", "crd: create customresourcedefinitions.apiextensions.k8s.io/mine.example.com",
			"crd: patch customresourcedefinitions.apiextensions.k8s.io/mine.example.com",
			"w: get widgets.example.com/w -n shop", "w: create widgets.example.com/w -n shop", "w: patch widgets.example.com/w -n shop",
		}},
		{name: "a mirrored object of another namespace is not this one", spec: `
  adopt: {strategy: Mirror, resources: [{apiVersion: example.com/v1, kind: Widget, name: w, namespace: other}]}
`, nodes: `
- {id: w, resource: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}, applyPolicy: {deletionPolicy: Orphan}}
`, want: []string{
			"w: get widgets.example.com/w -n shop", "w: create widgets.example.com/w -n shop", "w: patch widgets.example.com/w -n shop",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rg := graphOf(t, "metadata: {name: web, namespace: shop}\nspec:\n"+test.spec+"  graph:\n    nodes:\n"+indent(test.nodes))
			rights, err := Rights(rg, widgets)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rightLines(rights)); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
		})
	}
}

func indent(nodes string) string { return strings.ReplaceAll(nodes, "\n", "\n      ") }

// TestRightsAreGranted checks that the roles of Generate are enough for the rights.
func TestRightsAreGranted(t *testing.T) {
	text := strings.NewReplacer("NAME", "web", "OTHER", "other", "NS", "shop").Replace(strings.TrimPrefix(strings.TrimSpace(everything), "nodes:"))
	rg := nodesOf(t, indent(text))
	rights, err := Rights(rg, nil)
	if err != nil || len(rights) < 30 {
		t.Fatalf("%d rights, %v", len(rights), err)
	}
	for _, o := range []Options{{}, {ByName: true, NoCauses: true}} {
		roles, err := Generate([]*v1alpha1.ResourceGraph{rg}, o)
		if err != nil {
			t.Fatal(err)
		}
		rules := map[string][]rbacv1.PolicyRule{"": roles.ClusterRoles[0].Rules}
		for _, role := range roles.Roles {
			rules[role.Namespace] = role.Rules
		}
		for _, r := range rights {
			if !slices.ContainsFunc(rules[r.Namespace], func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.Verbs, r.Verb) && slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) &&
					(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
			}) {
				t.Errorf("%+v: not granted: %s", o, r)
			}
		}
	}
}

// TestManyRights holds that a role can't stand for more rights than fit in memory.
func TestManyRights(t *testing.T) {
	many := "[" + strings.Repeat("a, ", 3000) + "b]"
	rg := nodesOf(t, "    - {id: role, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: [{apiGroups: "+
		many+", resources: "+many+", verbs: "+many+"}]}}")
	if rights, err := Rights(rg, nil); !errors.Is(err, ErrTooManyRights) {
		t.Errorf("%d rights, %v", len(rights), err)
	}
}

func TestRightsOfUnknownKinds(t *testing.T) {
	rg := nodesOf(t, `
      - {id: a, resource: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}}
      - {id: b, externalRef: {apiVersion: v1, kind: ConfigMap, name: w}}
`)
	rights, err := Rights(rg, nil)
	var unknown *UnknownKindError
	if !errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), "node a: ") || len(rights) != 3 {
		t.Errorf("%q, %v", rightLines(rights), err)
	}
}
