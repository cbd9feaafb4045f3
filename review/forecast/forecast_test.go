package forecast

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// objects reads YAML documents.
func objects(t *testing.T, documents ...string) []objectdiff.Object {
	t.Helper()
	var all []objectdiff.Object
	for _, document := range documents {
		var manifest map[string]any
		if err := utilyaml.Unmarshal([]byte(document), &manifest); err != nil {
			t.Fatal(err)
		}
		found, err := objectdiff.FromManifest(manifest, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    spec:
      containers: [{name: app, image: "app:1"}]
`

func TestRollingRestart(t *testing.T) {
	before := objects(t, web)
	after := objects(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {team: a}}
spec:
  replicas: 3
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: app, image: "app:2"}]
`)
	got := Of(objectdiff.Compare(before, after), before, after)
	want := map[objectdiff.Key][]Consequence{{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}: {{
		Effect: RollingRestart, Path: "spec.template.metadata.labels.a", Pods: 3,
		Reason: "the Pod template changes", Rule: "apps/Deployment spec.template",
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
