package transform_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// versionsModule is a module with the given versions, the first of which is stored.
func (b *env) versionsModule(versions ...string) string {
	text := ""
	for i, v := range versions {
		storage := ""
		if i == 0 {
			storage = "storage: true, "
		}
		text += fmt.Sprintf("	%s: {%s#Input: {text: string}}\n", v, storage)
	}
	return `
package app

#Platform: {group: "` + b.group + `", kind: "App"}
#Versions: {
` + text + `}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Versions.` + versions[0] + `.#Input}
	output: nodes: first: resource: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		data: text: input.spec.text
	}
}
`
}

// approve makes a Transform use a module whose breaking changes are approved.
func (b *env) approve(name, module string) {
	b.t.Helper()
	fetched, err := b.fetcher.Fetch(b.t.Context(), b.transform(name, module))
	if err != nil {
		b.t.Fatal(err)
	}
	loaded, err := b.loader.Load(b.t.Context(), worker.Key{}, fetched.Sources)
	if err != nil {
		b.t.Fatal(err)
	}
	b.edit(name, func(t *v1alpha1.Transform) {
		t.Spec.CueRef.Ref, t.Spec.ApprovedBreakingDigest = module, loaded.Module.Digest
	})
}

// TestMigrate drops the version in which objects are stored. The manager is killed again and
// again meanwhile, and its requests fail: all objects stay, and nothing is stored in the old
// version.
func TestMigrate(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, uint64(time.Now().UnixNano()))
	config := proxy.Config(b.Config)
	config.Timeout = 10 * time.Second // of requests that are not answered
	b.start(config)
	b.create(b.transform("app", b.versionsModule("v1alpha1")))
	b.ready("app")
	const objects = 450
	for i := range objects {
		b.Apply(t, fmt.Sprintf("{apiVersion: %s/v1alpha1, kind: App, metadata: {name: app%d}, spec: {text: a%d}}", b.group, i, i))
	}
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.versionsModule("v1", "v1alpha1") })
	b.ready("app")
	name := "apps." + b.group
	if stored := b.crd(name).Status.StoredVersions; !cmp.Equal(stored, []string{"v1alpha1", "v1"}) {
		t.Fatalf("stored versions: %v", stored)
	}
	module := b.versionsModule("v1")
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = module })
	b.blocked("app", "CRDGenerated", "BreakingChange", "version v1alpha1 is no longer served")

	proxy.Inject(faults.Rule{Verbs: []string{"patch", "apply", "list"}, Rate: 0.02, Faults: []faults.Fault{
		faults.Status{Code: 500}, faults.Status{Code: 409}, faults.Drop{}, faults.Cut{},
	}})
	proxy.Reset()
	b.approve("app", module)
	rewrites := func() int {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "patch" && r.Resource == "apps."+b.group })
	}
	for kill := range 5 {
		harness.Eventually(t, patience, func(context.Context) error {
			if n := rewrites(); n < 60*(kill+1) && slices.Contains(b.crd(name).Status.StoredVersions, "v1alpha1") {
				return fmt.Errorf("%d objects were rewritten", n)
			}
			return nil
		})
		b.stop()
		b.start(config)
	}
	proxy.Inject()
	b.ready("app")
	crd := b.crd(name)
	if !cmp.Equal(crd.Status.StoredVersions, []string{"v1"}) || len(crd.Spec.Versions) != 1 {
		t.Fatalf("stored versions: %v, %d versions", crd.Status.StoredVersions, len(crd.Spec.Versions))
	}
	// The API server can't read objects that are stored in a version which it doesn't know.
	list, err := b.Dynamic.Resource(schema.GroupVersionResource{Group: b.group, Version: "v1", Resource: "apps"}).
		Namespace(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != objects {
		t.Errorf("%d objects", len(list.Items))
	}
	for _, o := range list.Items {
		if text, _, _ := unstructured.NestedString(o.Object, "spec", "text"); "app"+text[1:] != o.GetName() {
			t.Errorf("%s: %s", o.GetName(), text)
		}
	}
	t.Logf("%d patches, faults: %v", rewrites(), proxy.Faults())
}
