package roles_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/render"
)

// TestEmbedded checks that the account of a Transform of an embedded module has the rights that
// `pequod rbac generate` computes from each graph of its test cases, and that the manager may grant
// them as it is installed. The right to bind the roles of a graph follows from their rules.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	// Only the Secret that a database writes is not among them.
	beyond := map[string][]string{"database": {"secrets"}}
	for _, name := range modules.Embedded() {
		t.Run(name, func(t *testing.T) {
			needs := seen(t, name)
			if slices.ContainsFunc(needs.Rules, func(r rbacv1.PolicyRule) bool { return slices.ContainsFunc(r.ResourceNames, vet.IsInvented) }) {
				t.Errorf("the rules have names of samples: %v", needs.Rules)
			}
			granted := managed(t)
			for _, rule := range needs.Rules {
				each(rule, func(group, resource, name, verb string) {
					if !allows(granted, group, resource, name, verb) && !slices.Contains(beyond[t.Name()[len("TestEmbedded/"):]], resource) {
						t.Errorf("the manager may not grant: %s %s %s", verb, resource, group)
					}
				})
			}
			files, err := modules.EmbeddedSource(name)
			if err != nil {
				t.Fatal(err)
			}
			goldens, err := fs.Glob(files, "tests/*/graph.yaml")
			if err != nil || len(goldens) == 0 {
				t.Fatal(err, goldens)
			}
			for _, golden := range goldens {
				data, err := fs.ReadFile(files, golden)
				if err != nil {
					t.Fatal(err)
				}
				for doc := range strings.SplitSeq(string(data), "\n---\n") {
					g := &v1alpha1.ResourceGraph{}
					if err := yaml.Unmarshal([]byte(doc), g); err != nil {
						t.Fatal(err)
					}
					generated, err := rbac.Generate([]*v1alpha1.ResourceGraph{g}, rbac.Options{Resources: kinds()})
					if err != nil {
						t.Fatal(err)
					}
					for _, role := range generated.Roles {
						for _, rule := range role.Rules {
							each(rule, func(group, resource, name, verb string) {
								if verb != "bind" && !allows(needs.Rules, group, resource, name, verb) {
									t.Errorf("%s: the account may not %s %s %s %s", golden, verb, resource, group, name)
								}
							})
						}
					}
				}
			}
		})
	}
}

// kinds are kinds of other operators that modules use.
func kinds() rbac.Resources {
	return rbac.Resources{{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}: {Name: "httproutes", Namespaced: true}}
}

// seen returns what the samples of an embedded module need.
func seen(t *testing.T, name string) roles.Needs {
	t.Helper()
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}}
	sources, err := transform.Open(t.Context(), &modules.Opener{}, name, spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		t.Fatal(err)
	}
	p, err := sources.Load()
	if err != nil {
		t.Fatal(err)
	}
	// The limits are those of an evaluation that never ends, also on a busy machine.
	samples, err := vet.Graphs(t.Context(), p, render.Limits{Timeout: 10 * time.Minute, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	needs, err := roles.Seen(samples, "", func(kind schema.GroupKind) (rbac.Resource, error) {
		if resource, ok := kinds()[kind]; ok {
			return resource, nil
		}
		return rbac.Resource{}, errors.New("unknown")
	})
	if err != nil || len(needs.Unknown) > 0 {
		t.Fatal(err, needs.Unknown)
	}
	return needs
}

// managed returns what the manager may do in all namespaces, as it is installed.
func managed(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	var all []rbacv1.PolicyRule
	for doc := range strings.SplitSeq(string(config.Operator), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == "ClusterRole" && (role.Name == "pequod-manager" || role.Labels["pequod.io/aggregate-to-manager"] == "true") {
			all = append(all, role.Rules...)
		}
	}
	return all
}

// each calls f with every combination of a rule.
func each(rule rbacv1.PolicyRule, f func(group, resource, name, verb string)) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				for _, verb := range rule.Verbs {
					f(group, resource, name, verb)
				}
			}
		}
	}
}

// allows reports whether rules grant a verb on an object, or on all if name is "".
func allows(rules []rbacv1.PolicyRule, group, resource, name, verb string) bool {
	has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return has(r.APIGroups, group) && has(r.Resources, resource) && has(r.Verbs, verb) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}
