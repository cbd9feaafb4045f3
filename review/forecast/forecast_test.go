package forecast

import (
	"strings"
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

// An object is removed while workloads need it: their Pods can't start any more. That also holds
// if the workload changes. A workload that reads another object now, or also starts without
// this one, doesn't need it.
func TestRemovedButNeeded(t *testing.T) {
	const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      serviceAccountName: runner
      containers:
      - {name: app, image: "app:1", envFrom: [{configMapRef: {name: settings}}], env: [{name: A, valueFrom: {secretKeyRef: {name: extra, key: a, optional: true}}}]}
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}, {name: files, configMap: {name: files-1}}]
`
	const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {storageClassName: kept}
`
	const class = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: kept}
reclaimPolicy: Retain
`
	plain := func(kind, name string) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + ", namespace: shop}}"
	}
	before := objects(t, shop, class, claim, plain("ServiceAccount", "runner"), plain("ConfigMap", "settings"), plain("ConfigMap", "files-1"), plain("Secret", "extra"))
	changed := strings.ReplaceAll(strings.ReplaceAll(shop, "app:1", "app:2"), "files-1", "files-2")
	after := objects(t, changed, class, plain("ConfigMap", "files-2"))
	found := Of(objectdiff.Compare(before, after), before, after)
	const by = ": Deployment shop/web "
	for _, want := range []struct{ kind, name, text string }{
		{"ConfigMap", "settings", "Pods can't start: workloads still need it" + by + "(envFrom)"},
		{"ServiceAccount", "runner", "Pods can't start: workloads still run as it, and the tokens of their Pods aren't valid any more" + by + "(account)"},
		{"PersistentVolumeClaim", "data", "Pods can't start: workloads still need it, and it is deleted after the last of their Pods" + by + "(volume)"},
		{"ConfigMap", "files-1", "no restart: no Pod that runs reads it"},
		{"Secret", "extra", "no restart: no Pod that runs reads it"},
	} {
		got := found[objectdiff.Key{Kind: want.kind, Namespace: "shop", Name: want.name}]
		if len(got) != 1 || got[0].String() != want.text {
			t.Errorf("%s %s: %v, want %q", want.kind, want.name, got, want.text)
		}
	}
}
