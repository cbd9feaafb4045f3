package objectdiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/internal/problem"
)

// A Service without endpoints is a danger, whichever object has changed.
func TestServicesWithoutEndpoints(t *testing.T) {
	service := func(name, selector string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: shop}, spec: {selector: {%s}}}", name, selector)
	}
	deployment := func(name, labels string) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {%s}}}}}", name, labels)
	}
	for name, test := range map[string]struct {
		before, after []string
		want          string // the warnings
	}{
		"nothing matches": {
			[]string{service("web", "app: web"), deployment("web", "app: web")},
			[]string{service("web", "app: wbe"), deployment("web", "app: web")},
			"Service shop/web: spec.selector: no longer matches any Pods; it matched those of Deployment shop/web",
		},
		"only new Pods match": {
			[]string{service("web", "app: web"), deployment("web", "app: web")},
			[]string{service("web", "app: web, v: two"), deployment("web", "app: web, v: two")},
			"Service shop/web: spec.selector: matches no Pods that run now: the Service has no endpoints until new Pods of Deployment shop/web are ready",
		},
		"running Pods match": {
			[]string{service("web", "app: web"), deployment("web", "app: web, v: two")},
			[]string{service("web", "app: web, v: two"), deployment("web", "app: web, v: two")},
			"",
		},
		"a running workload takes over": {
			[]string{service("web", "v: blue"), deployment("blue", "app: web, v: blue"), deployment("green", "app: web, v: green")},
			[]string{service("web", "v: green"), deployment("blue", "app: web, v: blue"), deployment("green", "app: web, v: green")},
			"",
		},
		"the labels of the Pods change": {
			[]string{service("web", "v: one"), deployment("web", "app: web, v: one")},
			[]string{service("web", "v: one"), deployment("web", "app: web, v: two")},
			"Deployment shop/web: spec.template.metadata.labels: no longer match the selector of Service shop/web, which loses its endpoints",
		},
		"other Pods remain": {
			[]string{service("web", "v: one"), deployment("web", "app: web, v: one"), deployment("old", "app: web, v: one")},
			[]string{service("web", "v: one"), deployment("web", "app: web, v: two"), deployment("old", "app: web, v: one")},
			"",
		},
		"the workload is removed": {
			[]string{service("web", "app: web"), deployment("web", "app: web")},
			[]string{service("web", "app: web")},
			"Deployment shop/web: Service shop/web stays, and has no endpoints without it",
		},
		"both are removed": {
			[]string{service("web", "app: web"), deployment("web", "app: web")}, nil, "",
		},
		"the service is removed": {
			[]string{service("web", "v: one"), deployment("web", "app: web, v: one")},
			[]string{deployment("web", "app: web, v: two")}, "",
		},
		"no selector": {
			[]string{service("web", ""), deployment("web", "app: web")},
			[]string{service("web", ""), deployment("web", "app: web, v: two")}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Compare(parse(t, test.before), parse(t, test.after))
			var got []string
			for _, o := range d.Objects {
				for _, w := range o.Warnings {
					if w.Rule == RuleSelector {
						at := o.Key.String() + ": "
						if w.Path != "" {
							at += w.Path + ": "
						}
						got = append(got, at+w.Message)
					}
				}
			}
			if text := strings.Join(got, "\n"); text != test.want {
				t.Errorf("warnings:\n%s\nwant:\n%s", text, test.want)
			}
		})
	}
}

// parse returns the objects of manifests.
func parse(t *testing.T, manifests []string) []Object {
	t.Helper()
	var all []Object
	for _, text := range manifests {
		var manifest map[string]any
		if err := yaml.Unmarshal([]byte(text), &manifest); err != nil {
			t.Fatal(err)
		}
		objects, err := FromManifest(manifest, "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}

// A Service that depends on its workload keeps its old selector until all Pods are new.
func TestServiceAfterItsWorkload(t *testing.T) {
	nodes := func(selector, labels, needs, more string) []Object {
		return instance(t, "Web", "web", fmt.Sprintf(`
- {id: app, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {%[2]s}}}}}}
- {id: gate, dependencies: [app], resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}}
- {id: service, dependencies: [%[3]s], resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {%[1]s}}}}
%[4]s`, selector, labels, needs, more))
	}
	const old, wide, v1, v2 = "app: web, v: one", "app: web", "app: web, v: one", "app: web, v: two"
	const other = "- {id: other, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: other}, spec: {template: {metadata: {labels: {app: web, v: one}}}}}}"
	for name, test := range map[string]struct {
		before, after []Object
		want          bool
	}{
		"it depends on the workload":    {nodes(old, v1, "app", ""), nodes(wide, v2, "app", ""), true},
		"it depends on it by way of":    {nodes(old, v1, "gate", ""), nodes(wide, v2, "gate", ""), true},
		"it only depended on it before": {nodes(old, v1, "app", ""), nodes(wide, v2, "", ""), false},
		"both are applied at once":      {nodes(old, v1, "", ""), nodes(wide, v2, "", ""), false},
		"the Pods keep their labels":    {nodes(old, v1, "app", ""), nodes(wide, v1, "app", ""), false},
		"the selector matches them":     {nodes(wide, v1, "app", ""), nodes(wide, v2, "app", ""), false},
		"other Pods match meanwhile":    {nodes(old, v1, "app", other), nodes(wide, v2, "app", other), false},
	} {
		d := Compare(test.before, test.after)
		var got []string
		for i := range d.Objects {
			for _, w := range d.Objects[i].Warnings {
				got = append(got, d.Objects[i].String()+": "+w.Path+": "+w.Message)
			}
		}
		want := "Service shop/web: spec.selector: changes only when Deployment shop/web is ready, which replaces all Pods that the old selector matches: the Service has no endpoints until then"
		if !test.want {
			want = ""
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
	}
}

// The Pods of a workload that its graph keeps are still there.
func TestServiceOfKeptWorkload(t *testing.T) {
	before := parse(t, []string{
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: web}}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: web}}}}}",
	})
	for _, kept := range []bool{true, false} {
		before[1].policy.orphaned = kept
		removed := Compare(before, before[:1]).Objects
		warned := len(removed) == 1 && slices.ContainsFunc(removed[0].Warnings, func(w problem.Problem) bool { return w.Rule == RuleSelector })
		if warned == kept {
			t.Errorf("kept %v: %+v", kept, removed)
		}
	}
}

// A dry run compares each object alone, so the selectors are compared after it. The workload
// needs no change.
func TestSelectorsOfLiveObjects(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	service := func(label string) *unstructured.Unstructured {
		return read("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: " + label + "}}}")
	}
	deployment := read("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}")
	stays := Live{Before: deployment, After: deployment}
	for name, test := range map[string]struct {
		changed, unchanged Live
		want               string
	}{
		"changed Service": {Live{Before: service("web"), After: service("wbe")}, stays, "spec.selector: no longer matches any Pods; it matched those of Deployment shop/web"},
		"refused Service": {Live{Before: service("web"), After: service("wbe"), Refusal: "no"}, stays, ": no"},
		"new Service":     {Live{After: service("wbe")}, stays, ""},
		"removed workload": {
			Live{Before: deployment, Leaving: true}, Live{Before: service("web"), After: service("web")},
			": Service shop/web stays, and has no endpoints without it",
		},
	} {
		d, err := CompareLive([]Live{test.changed})
		if err != nil {
			t.Fatal(err)
		}
		before, after, err := LiveSides([]Live{test.changed, test.unchanged})
		if err != nil {
			t.Fatal(err)
		}
		d.WarnSelectors(before, after)
		var got []string
		for _, w := range d.Objects[0].Warnings {
			got = append(got, w.Path+": "+w.Message)
		}
		if text := strings.Join(got, "\n"); text != test.want {
			t.Errorf("%s: got %q, want %q", name, text, test.want)
		}
	}
}
