package rbac

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
	"github.com/pequod-io/pequod/test/harness"
)

// The resources of built-in kinds must be those that a cluster serves.
func TestBuiltInKinds(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if _, known := graph.ClusterScoped(gk); !known || strings.Contains(r.Name, "/") {
				continue
			}
			seen++
			got, err := Resources(nil).find(gk)
			if want := (Resource{r.Name, r.Namespaced}); err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", gk, got, err, want)
			}
		}
	}
	if seen < 60 {
		t.Errorf("the cluster serves only %d of the built-in kinds", seen)
	}
}

// everything is a graph with one node for each kind of rule. NAME is replaced by a
// unique name, NS by the namespace, OTHER by another namespace.
const everything = `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {a: "1"}}
- id: elsewhere
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: OTHER}}
- id: secret
  resource: {apiVersion: v1, kind: Secret, metadata: {name: NAME}, stringData: {a: {$generate: {length: 8}}}}
  applyPolicy: {mode: Create, deletionPolicy: Delete}
- id: given
  externalRef: {apiVersion: v1, kind: Service, name: given}
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: NAME, annotations: {given: {$from: given.spec.clusterIP}}}, spec: {ports: [{port: 80}]}}
- id: stays
  resource: {apiVersion: v1, kind: LimitRange, metadata: {name: NAME}, spec: {limits: []}}
  applyPolicy: {deletionPolicy: Orphan}
- id: role
  resource:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: NAME}
    rules: [{apiGroups: [apps], resources: [statefulsets], verbs: [get]}]
- id: binding
  resource:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: NAME}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
    subjects: [{kind: ServiceAccount, name: default, namespace: NS}]
- id: class
  resource: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAME}, value: 7}
`

// fixture runs graphs as accounts with the roles that Generate returns.
type fixture struct {
	*harness.Cluster
	other string
	// requester impersonates the accounts of graphs. It is an administrator by default.
	requester *rest.Config
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, harness.Start(t))
}

func newFixtureOn(t *testing.T, c *harness.Cluster) *fixture {
	t.Helper()
	other := c.Unique("rbac-other")
	c.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, other))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, other, metav1.DeleteOptions{})
	})
	c.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: given}, spec: {ports: [{port: 80}]}}`)
	return &fixture{c, other, c.Config}
}

// graph returns a graph with a name; its account has the same name.
func (f *fixture) graph(t *testing.T, name, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name, rg.Spec.ServiceAccountName = f.Namespace, name, name
	text = strings.NewReplacer("NAME", f.Unique(name), "NS", f.Namespace, "OTHER", f.other).Replace(text)
	if err := yaml.UnmarshalStrict([]byte(text), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	rg.Spec.RenderHash = "sha256:" + name
	return rg
}

// grant creates the roles and waits until the API server enforces them.
func (f *fixture) grant(t *testing.T, roles *Roles) {
	t.Helper()
	ctx, api := t.Context(), f.Client.RbacV1()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range roles.Roles {
		r := &roles.Roles[i]
		_, err := api.Roles(r.Namespace).Create(ctx, r, metav1.CreateOptions{})
		check(err)
		b := &roles.RoleBindings[i]
		_, err = api.RoleBindings(r.Namespace).Create(ctx, b, metav1.CreateOptions{})
		check(err)
		f.await(t, b.Subjects[0], r.Namespace, r.Rules)
	}
	for i := range roles.ClusterRoleBindings {
		r, b := &roles.ClusterRoles[i], &roles.ClusterRoleBindings[i]
		_, err := api.ClusterRoles().Create(ctx, r, metav1.CreateOptions{})
		check(err)
		_, err = api.ClusterRoleBindings().Create(ctx, b, metav1.CreateOptions{})
		check(err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = api.ClusterRoles().Delete(ctx, r.Name, metav1.DeleteOptions{})
			_ = api.ClusterRoleBindings().Delete(ctx, b.Name, metav1.DeleteOptions{})
		})
		f.await(t, b.Subjects[0], "", r.Rules)
	}
}

func (f *fixture) await(t *testing.T, who rbacv1.Subject, namespace string, rules []rbacv1.PolicyRule) {
	t.Helper()
	if len(rules) == 0 {
		return
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: userOf(who.Namespace, who.Name),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rules[0].Verbs[0], Group: rules[0].APIGroups[0], Resource: rules[0].Resources[0],
		},
	}}
	if names := rules[0].ResourceNames; len(names) > 0 {
		review.Spec.ResourceAttributes.Name = names[0]
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		got, err := f.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !got.Status.Allowed {
			err = fmt.Errorf("not allowed yet: %+v", review.Spec)
		}
		return err
	})
}

func userOf(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// run applies and deletes a graph as its account and returns what was denied. The
// inventory is written by the account or, without ownInventories, by an
// administrator.
func (f *fixture) run(t *testing.T, rg *v1alpha1.ResourceGraph, ownInventories bool) (denied []string) {
	t.Helper()
	own, err := cluster.New(f.requester)
	if err != nil {
		t.Fatal(err)
	}
	client, err := own.As(userOf(rg.Namespace, rg.Spec.ServiceAccountName))
	if err != nil {
		t.Fatal(err)
	}
	keeper := client
	if !ownInventories {
		if keeper, err = cluster.New(f.Config); err != nil {
			t.Fatal(err)
		}
	}
	a := &applier.Applier{Client: client, Inventories: stored.New(keeper.REST())}
	o := applier.Options{Options: engine.Options{
		Prune: true, PollInterval: 200 * time.Millisecond, Backoff: engine.Backoff{Base: 50 * time.Millisecond, Max: time.Second},
	}, Timeout: time.Minute, Wait: true}
	refused := func(what string, result *applier.Result, err error) {
		t.Helper()
		if err != nil {
			denied = append(denied, what+": "+err.Error())
			return
		}
		for _, s := range result.Statuses {
			if s.Phase == v1alpha1.NodeFailed {
				denied = append(denied, fmt.Sprintf("%s: %s %s: %s", what, s.Key, s.Reason, s.Message))
			}
		}
		if result.Phase != engine.Completed && len(denied) == 0 {
			t.Errorf("%s: phase %s, and nothing failed", what, result.Phase)
		}
	}
	result, err := a.Apply(t.Context(), rg, o)
	refused("apply", result, err)
	result, err = a.Delete(t.Context(), inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, o)
	refused("delete", result, err)
	return denied
}

func generate(t *testing.T, rg *v1alpha1.ResourceGraph, o Options) *Roles {
	t.Helper()
	roles, err := Generate([]*v1alpha1.ResourceGraph{rg}, o)
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// An account with the generated rules can apply and delete its graph.
func TestRolesSuffice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, o := range map[string]Options{
		"kinds": {NoCauses: true}, "names": {NoCauses: true, ByName: true},
		"cli": {CLI: true}, "cli-names": {CLI: true, ByName: true},
	} {
		rg := f.graph(t, name, everything)
		f.grant(t, generate(t, rg, o))
		if denied := f.run(t, rg, o.CLI); len(denied) > 0 {
			t.Errorf("%s: %s", name, strings.Join(denied, "\n"))
		}
	}
}

// With the option CLI, an account can also read the ResourceGraphs in the cluster and
// keep its inventory in the graph's status.
func TestRolesSufficeForCLI(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t)
	definition, err := os.ReadFile("../../config/crd/platform.pequod.io_resourcegraphs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(definition))
	f := newFixtureOn(t, c)
	rg := f.graph(t, "web", everything)
	rg.APIVersion, rg.Kind = v1alpha1.GroupVersion.String(), "ResourceGraph"
	text, err := yaml.Marshal(rg)
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(text))
	f.grant(t, generate(t, rg, Options{CLI: true}))
	if denied := f.run(t, rg, true); len(denied) > 0 {
		t.Error(strings.Join(denied, "\n"))
	}
	kept, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelInventory})
	if err != nil || len(kept.Items) > 0 {
		t.Errorf("inventories in ConfigMaps: %d, %v", len(kept.Items), err)
	}
}

// Without any one of the rules the account can't. The exceptions are list, without
// which objects are read one by one, and watch, without which they are polled.
func TestRolesAreMinimal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := Options{NoCauses: true}
	n := 0
	for _, part := range []func(*Roles) []*[]rbacv1.PolicyRule{rulesOfRoles, rulesOfClusterRoles} {
		whole := part(generate(t, f.graph(t, "count", everything), o))
		for i, rules := range whole {
			for j, rule := range *rules {
				for k, verb := range rule.Verbs {
					if verb == "list" || verb == "watch" {
						continue
					}
					n++
					name := fmt.Sprintf("without-%d", n)
					rg := f.graph(t, name, everything)
					roles := generate(t, rg, o)
					cut := *part(roles)[i]
					cut[j].Verbs = slices.Delete(slices.Clone(cut[j].Verbs), k, k+1)
					if len(cut[j].Verbs) == 0 {
						*part(roles)[i] = slices.Delete(cut, j, j+1)
					}
					t.Run(fmt.Sprintf("%s %s", verb, strings.Join(rule.Resources, ",")), func(t *testing.T) {
						t.Parallel()
						f.grant(t, roles)
						denied := f.run(t, rg, false)
						if len(denied) == 0 {
							t.Errorf("nothing is denied without %s of %+v", verb, rule)
						}
						for _, d := range denied {
							if !strings.Contains(d, "orbidden") && !strings.Contains(d, "attempting to grant") {
								t.Errorf("failed for another reason: %s", d)
							}
						}
					})
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("%d verbs were taken away", n)
	}
}

func rulesOfRoles(r *Roles) (all []*[]rbacv1.PolicyRule) {
	for i := range r.Roles {
		all = append(all, &r.Roles[i].Rules)
	}
	return all
}

// rulesOfClusterRoles returns the rules of the cluster roles that are bound, which
// the role for watches is not.
func rulesOfClusterRoles(r *Roles) (all []*[]rbacv1.PolicyRule) {
	for i := range r.ClusterRoleBindings {
		all = append(all, &r.ClusterRoles[i].Rules)
	}
	return all
}
