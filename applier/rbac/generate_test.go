package rbac

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func graphOf(t *testing.T, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	if err := yaml.UnmarshalStrict([]byte(text), rg); err != nil {
		t.Fatal(err)
	}
	return rg
}

// ruleLines returns the rules of roles as lines: account, namespace and rule. Roles
// for watches are left out.
func ruleLines(r *Roles) (lines []string) {
	add := func(kind, namespace, name string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			text := strings.Join(rule.Resources, ",")
			if rule.APIGroups[0] != "" {
				text += "." + rule.APIGroups[0]
			}
			if len(rule.ResourceNames) > 0 {
				text += " " + strings.Join(rule.ResourceNames, ",")
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s: %s", kind, namespace, text, strings.Join(rule.Verbs, " "))))
		}
	}
	for i := range r.ClusterRoleBindings {
		add(r.ClusterRoleBindings[i].Subjects[0].Name, "-", "", r.ClusterRoles[i].Rules)
	}
	for i, role := range r.Roles {
		add(r.RoleBindings[i].Subjects[0].Name, role.Namespace, "", role.Rules)
	}
	return lines
}

func nodesOf(t *testing.T, nodes string) *v1alpha1.ResourceGraph {
	t.Helper()
	return graphOf(t, "metadata: {name: web, namespace: shop}\nspec:\n  graph:\n    nodes:\n"+nodes)
}

// actingAs returns the verbs that allow an applier to use other verbs as a service account.
func actingAs(all ...string) string {
	return "impersonate-on:serviceaccount:" + strings.Join(all, " impersonate-on:serviceaccount:")
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		name, nodes string
		options     Options
		want        []string
	}{
		{"none", "", Options{}, nil},
		{"kinds with the same verbs", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
    - {id: b, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: b}}}
    - {id: c, resource: {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: c}}}`,
			Options{NoCauses: true}, []string{
				"pequod shop: configmaps,serviceaccounts: get list create patch delete",
				"pequod shop: statefulsets.apps: get list create patch delete",
			}},
		{"names", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
    - {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`,
			Options{ByName: true}, []string{"pequod shop: configmaps a,b: get create patch delete"}},
		{"secrets", `
    - {id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a}}}`,
			Options{}, []string{"pequod shop: secrets: get list create patch delete"}},
		{"in another namespace", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}}`,
			Options{ServiceAccount: "robot"}, []string{"robot other: configmaps: get list create patch delete"}},
		{"constrained", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
    - {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}}
    - {id: c, resource: {apiVersion: v1, kind: Namespace, metadata: {name: c}}}
    - id: d
      resource:
        {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: d}, rules: [{apiGroups: [apps], resources: [daemonsets], verbs: [get]}]}
    - id: e
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: e}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}`,
			Options{NoCauses: true, Constrained: DefaultApplier}, []string{
				"pequod -: namespaces c: get create patch",
				"pequod-applier -: namespaces c: " + actingAs("get", "create", "patch"),
				"pequod other: configmaps: get list create patch delete",
				"pequod shop: configmaps: get list create patch delete",
				"pequod shop: clusterroles.rbac.authorization.k8s.io view: bind",
				"pequod shop: rolebindings,roles.rbac.authorization.k8s.io: get list create patch delete",
				"pequod shop: daemonsets.apps: get",
				"pequod-applier other: configmaps: " + actingAs("get", "list", "create", "patch", "delete"),
				"pequod-applier shop: serviceaccounts.authentication.k8s.io pequod: impersonate:serviceaccount",
				"pequod-applier shop: configmaps: " + actingAs("get", "list", "create", "patch", "delete"),
				"pequod-applier shop: rolebindings,roles.rbac.authorization.k8s.io: " + actingAs("get", "list", "create", "patch", "delete"),
			}},
		{"cluster-scoped", `
    - {id: a, resource: {apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: x}}}
    - {id: b, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b}}}`,
			Options{}, []string{
				"pequod -: namespaces a: get create patch",
				"pequod -: clusterroles.rbac.authorization.k8s.io b: get create patch delete",
			}},
		{"read only", `
    - {id: a, externalRef: {apiVersion: v1, kind: Secret, name: a}}
    - {id: b, externalRef: {apiVersion: storage.k8s.io/v1, kind: StorageClass, name: b}}`,
			Options{}, []string{
				"pequod -: storageclasses.storage.k8s.io b: get list watch",
				"pequod shop: secrets a: get list watch",
			}},
		{"read and written", `
    - {id: a, externalRef: {apiVersion: v1, kind: ConfigMap, name: a}}
    - {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}`,
			Options{}, []string{
				"pequod shop: configmaps: get list create patch delete",
				"pequod shop: configmaps a: watch",
			}},
		{"orphaned objects aren't deleted", `
    - {id: a, resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}}
    - {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, applyPolicy: {mode: Create}}
    - {id: c, resource: {apiVersion: v1, kind: Service, metadata: {name: c}}, applyPolicy: {deletionPolicy: Orphan, recreate: OnImmutable}}`,
			Options{NoCauses: true}, []string{
				"pequod shop: configmaps,persistentvolumeclaims: get list create patch",
				"pequod shop: services: get list create patch delete",
			}},
		{"causes", `
    - {id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}}`,
			Options{}, []string{
				"pequod shop: events,pods: list",
				"pequod shop: deployments.apps: get list create patch delete",
				"pequod shop: replicasets.apps: list",
			}},
		{"CLI", `
    - {id: a, resource: {apiVersion: v1, kind: Service, metadata: {name: a}}}`,
			Options{CLI: true, NoCauses: true}, []string{
				"pequod shop: configmaps: get list create patch delete",
				"pequod shop: services: get list watch create patch delete",
				"pequod shop: resourcegraphs.platform.pequod.io: get list",
				"pequod shop: resourcegraphs/status.platform.pequod.io: patch",
			}},
		{"roles and bindings", `
    - id: a
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: a}
        rules: [{apiGroups: [""], resources: [pods], verbs: [get, deletecollection]}]
    - id: b
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: b}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}`,
			Options{}, []string{
				"pequod -: clusterrolebindings.rbac.authorization.k8s.io b: get create patch delete",
				"pequod -: clusterroles.rbac.authorization.k8s.io view: bind",
				"pequod shop: roles.rbac.authorization.k8s.io: get list create patch delete",
				"pequod shop: pods: get deletecollection",
			}},
		{"kinds that the graph defines", `
    - id: crd
      resource:
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: foes.example.com}
        spec: {group: example.com, scope: Namespaced, names: {kind: Foo, plural: foes}}
    - {id: foo, resource: {apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}}`,
			Options{NoCauses: true}, []string{
				"pequod -: customresourcedefinitions.apiextensions.k8s.io foes.example.com: get create patch",
				"pequod shop: foes.example.com: get list create patch delete",
			}},
		{"kinds in the options", `
    - {id: foo, resource: {apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}}
    - {id: bar, resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: b}}}`,
			Options{NoCauses: true, Resources: Resources{
				{Group: "example.com", Kind: "Foo"}: {"fooses", true}, {Group: "example.com", Kind: "Bar"}: {"bars", false},
			}}, []string{
				"pequod -: bars.example.com b: get create patch delete",
				"pequod shop: fooses.example.com: get list create patch delete",
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			roles := generate(t, nodesOf(t, test.nodes), test.options)
			if diff := cmp.Diff(test.want, ruleLines(roles)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if len(roles.Notes) > 0 {
				t.Errorf("notes: %q", roles.Notes)
			}
		})
	}
}

func TestMirroredObjects(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: Service, metadata: {name: a}}}
    - {id: b, resource: {apiVersion: v1, kind: Service, metadata: {name: a, namespace: other}}}`)
	rg.Spec.Adopt = &v1alpha1.Adopt{
		Strategy:  v1alpha1.AdoptMirror,
		Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "Service", Name: "a"}},
	}
	want := []string{"pequod other: services: get list create patch delete", "pequod shop: services a: get list watch"}
	if diff := cmp.Diff(want, ruleLines(generate(t, rg, Options{NoCauses: true}))); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Graphs of one account share a role, and graphs of different accounts don't. The
// order of the graphs doesn't matter.
func TestSeveralGraphs(t *testing.T) {
	first := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`)
	second := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
    - {id: b, resource: {apiVersion: v1, kind: Service, metadata: {name: b}}}`)
	third := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a}}}`)
	third.Spec.ServiceAccountName = "deployer"
	o := Options{NoCauses: true}
	want := []string{
		"deployer shop: secrets: get list create patch delete",
		"pequod shop: configmaps,services: get list create patch delete",
	}
	all := []*v1alpha1.ResourceGraph{first, second, third}
	var before string
	for range 2 {
		roles, err := Generate(all, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ruleLines(roles)); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		data, err := yaml.Marshal(roles)
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(data) {
			t.Error("the order of the graphs makes a difference")
		}
		before = string(data)
		slices.Reverse(all)
	}
}

// The inventory of a large graph is kept in ConfigMaps.
func TestLargeGraph(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: Service, metadata: {name: a}}}`)
	for range maxNodesInStatus {
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, rg.Spec.Graph.Nodes[0])
	}
	want := []string{"pequod shop: configmaps,services: get list create patch delete"}
	if diff := cmp.Diff(want, ruleLines(generate(t, rg, Options{NoCauses: true}))); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Of a graph whose objects are in another cluster, the account needs the kubeconfig here.
func TestOtherCluster(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: Service, metadata: {name: a}}}`)
	rg.Spec.KubeConfig = &v1alpha1.KubeConfigReference{SecretRef: v1alpha1.SecretKeyReference{Name: "prod", Key: "kubeconfig"}}
	roles := generate(t, rg, Options{})
	if diff := cmp.Diff([]string{"pequod shop: secrets prod: get list watch"}, ruleLines(roles)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	want := []string{"graph shop/web: the objects are in the cluster of Secret shop/prod, key kubeconfig, which needs roles of its own: generate them from the graph without spec.kubeConfig"}
	if diff := cmp.Diff(want, roles.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestWatchRole(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a}}}
    - {id: b, externalRef: {apiVersion: v1, kind: Service, name: b}}
    - {id: c, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: c}}}`)
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{}, "services deployments"},
		{Options{WatchSecrets: true}, "secrets services deployments"},
	} {
		roles := generate(t, rg, test.options)
		role := roles.ClusterRoles[len(roles.ClusterRoles)-1]
		if role.Labels["pequod.io/aggregate-to-applier"] != "true" || len(roles.ClusterRoleBindings) > 0 {
			t.Errorf("the role for watches: %+v, bound: %v", role.ObjectMeta, roles.ClusterRoleBindings)
		}
		var got []string
		for _, rule := range role.Rules {
			got = append(got, rule.Resources...)
			if diff := cmp.Diff([]string{"get", "list", "watch"}, rule.Verbs); diff != "" || len(rule.ResourceNames) > 0 {
				t.Errorf("verbs of %v (-want +got):\n%s", rule, diff)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("watched: %v; want %s", got, test.want)
		}
	}
}

func TestUnknownKinds(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}}
    - {id: b, resource: {apiVersion: example.com/v1, kind: Foo, metadata: {name: b}}}
    - {id: c, externalRef: {apiVersion: example.com/v1, kind: Bar, name: c}}`)
	_, err := Generate([]*v1alpha1.ResourceGraph{rg}, Options{})
	want := "graph shop/web: node a: the resource of kind Foo.example.com isn't known\n" +
		"graph shop/web: node c: the resource of kind Bar.example.com isn't known"
	if err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

func TestNotes(t *testing.T) {
	rg := nodesOf(t, `
    - {id: space, resource: {apiVersion: v1, kind: Namespace, metadata: {name: made}}}
    - {id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: made}}}
    - id: late
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: a}
        rules: [{apiGroups: [""], resources: {$from: "[config.metadata.name]"}, verbs: [get]}]
    - id: sum
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: a}
        aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
    - id: bind
      resource:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: a}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {$from: config.metadata.name}}`)
	want := []string{
		"graph shop/web: node late: its rules are known only after the apply: grant them to the account yourself",
		"graph shop/web: node sum: its rules are aggregated from other roles: grant them to the account yourself",
		"graph shop/web: node bind: the role that it binds is known only after the apply: grant the account the verb bind for it yourself",
		"namespace made is part of a graph: the Role in it can be applied when the namespace exists",
	}
	if diff := cmp.Diff(want, generate(t, rg, Options{}).Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A graph's author must not gain rights beyond the graph's namespace unnoticed.
func TestEscalations(t *testing.T) {
	role := func(kind, name, rules string) string {
		return "\n    - {id: " + name + ", resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: " + kind + ", metadata: {name: " + name + "}, rules: [" + rules + "]}}"
	}
	binding := func(kind, roleKind, role string) string {
		return "\n    - {id: b, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: " + kind + ", metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + roleKind + ", name: " + role + "}}}"
	}
	for _, test := range []struct {
		name, nodes string
		want        []string
	}{
		{"its own namespace", `
    - {id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a}}}
    - {id: b, externalRef: {apiVersion: v1, kind: Secret, name: b, namespace: shop}}`, nil},
		{"a role and its binding", role("Role", "r", `{apiGroups: [""], resources: [pods], verbs: [get]}`) + binding("RoleBinding", "Role", "r"), nil},
		{"the binding first", binding("RoleBinding", "Role", "r") + role("Role", "r", `{apiGroups: [""], resources: [pods], verbs: [get]}`), nil},
		{"a cluster-scoped object", `
    - {id: a, resource: {apiVersion: v1, kind: Namespace, metadata: {name: a}}}
    - {id: b, externalRef: {apiVersion: storage.k8s.io/v1, kind: StorageClass, name: b}}`,
			[]string{"a: asks for rights on a cluster-scoped object: namespaces a", "b: asks for rights on a cluster-scoped object: storageclasses.storage.k8s.io b"}},
		{"another namespace", `
    - {id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kube-system}}}`,
			[]string{"a: asks for rights in namespace kube-system: secrets"}},
		{"a binding to a role of others", binding("RoleBinding", "ClusterRole", "admin"),
			[]string{"b: asks for the right to bind a role: clusterroles.rbac.authorization.k8s.io admin"}},
		{"a role of everything", role("Role", "r", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`),
			[]string{"r: asks for unlimited rights: a rule of its role has a wildcard"}},
		{"subresources of everything", role("Role", "r", `{apiGroups: [apps], resources: ["*/scale"], verbs: [get]}`),
			[]string{"r: asks for unlimited rights: a rule of its role has a wildcard"}},
		{"verbs that escalate", role("Role", "r", `{apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}, {apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate, bind]}`),
			[]string{"r: asks for the right to impersonate: a rule of its role has this verb", "r: asks for the right to escalate: a rule of its role has this verb", "r: asks for the right to bind: a rule of its role has this verb"}},
		{"a cluster role", role("ClusterRole", "r", `{apiGroups: [""], resources: [pods], verbs: [get]}`),
			[]string{"r: asks for rights on a cluster-scoped object: clusterroles.rbac.authorization.k8s.io r"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, line := range test.want {
				want = append(want, "graph shop/web: node "+line)
			}
			if diff := cmp.Diff(want, generate(t, nodesOf(t, test.nodes), Options{}).Escalations); diff != "" {
				t.Errorf("escalations (-want +got):\n%s", diff)
			}
		})
	}
}

// A definition in a graph must not turn the rights on its kind into others.
func TestHostileDefinitions(t *testing.T) {
	define := func(group, plural string) string {
		return `
    - id: crd
      resource:
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: x}
        spec: {group: "` + group + `", scope: Namespaced, names: {kind: Deployment, plural: "` + plural + `"}}
    - {id: a, resource: {apiVersion: "` + group + `/v1", kind: Deployment, metadata: {name: a}}}`
	}
	for _, test := range [][2]string{{"*", "foes"}, {"example.com", "*"}, {"example.com", "pods/exec"}} {
		if _, err := Generate([]*v1alpha1.ResourceGraph{nodesOf(t, define(test[0], test[1]))}, Options{}); err == nil {
			t.Errorf("group %s, plural %s: no error", test[0], test[1])
		}
	}
	roles := generate(t, nodesOf(t, define("apps", "daemonsets")), Options{NoCauses: true})
	if got := ruleLines(roles); !slices.Contains(got, "pequod shop: deployments.apps: get list create patch delete") {
		t.Errorf("a definition redefines a built-in kind: %q", got)
	}
}

func TestSummary(t *testing.T) {
	rg := nodesOf(t, `
    - {id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}}
    - {id: b, externalRef: {apiVersion: v1, kind: Secret, name: b}}
    - {id: c, externalRef: {apiVersion: v1, kind: ConfigMap, name: c}}
    - {id: d, externalRef: {apiVersion: v1, kind: ConfigMap, name: d}}
    - {id: e, resource: {apiVersion: v1, kind: Namespace, metadata: {name: e}}}
    - {id: f, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: f}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}}
    - {id: g, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: g}, roleRef: {kind: Role, name: f}}}`)
	want := []string{
		"service account shop/pequod in the cluster: changes namespaces e",
		"service account shop/pequod in namespace shop: changes deployments.apps, rolebindings.rbac.authorization.k8s.io, roles.rbac.authorization.k8s.io; " +
			"reads configmaps (2 by name), events, pods, replicasets.apps, secrets b; binds roles.rbac.authorization.k8s.io f; has the 1 rules of the roles that it writes",
		"applier: watches configmaps, deployments.apps, namespaces, rolebindings.rbac.authorization.k8s.io, roles.rbac.authorization.k8s.io",
	}
	if diff := cmp.Diff(want, generate(t, rg, Options{}).Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}
