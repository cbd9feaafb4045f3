package source_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/test/harness"
)

// TestRender renders a repository, and follows its changes.
func TestRender(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	web := app("web", "{text: hello}")
	b.apps(map[string]string{
		"apps/web.yaml":            web,
		"apps/team/more.yml":       app("one", "{text: a}") + "---\n" + strings.Replace(app("two", "{text: b}"), "{name: two}", "{name: two, namespace: other}", 1),
		"apps/data.json":           `{"apiVersion": "example.org/v1alpha1", "kind": "App", "metadata": {"name": "json"}, "spec": {"text": "c"}}`,
		"apps/kustomization.yaml":  "resources: [web.yaml]\n",
		"apps/README.md":           "not input",
		"other/broken.yaml":        "a: [",
		"apps2/another-prefix.yml": "a: [",
	})
	in := b.rendered("main@sha1:1")
	object, a := b.external("apps")
	files := b.download(a)
	graphs := []string{graphFile(b.Namespace, "json"), graphFile(b.Namespace, "one"), graphFile(b.Namespace, "web"), graphFile("other", "two")}
	if diff := cmp.Diff(slices.Sorted(slices.Values(graphs)), names(files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(b.byCommandLine(web), files[graphFile(b.Namespace, "web")]); diff != "" {
		t.Errorf("graph (-pequod render +artifact):\n%s", diff)
	}
	if in.Status.Instances != 4 || in.Status.Artifact == nil || in.Status.Artifact.Digest != a.Digest || in.Status.Artifact.Revision != a.Revision {
		t.Errorf("status %+v", in.Status)
	}
	if a.Revision != "main@"+a.Digest || a.Metadata["org.opencontainers.image.revision"] != "main@sha1:1" || !strings.HasSuffix(a.URL, "/artifacts/"+a.Path) {
		t.Errorf("artifact %+v", a)
	}
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.UID != in.UID || owner.Kind != "InstanceSource" {
		t.Errorf("owner %+v", owner)
	}
	ref, _, _ := unstructured.NestedStringMap(object.Object, "spec", "sourceRef")
	want := map[string]string{"apiVersion": "platform.pequod.io/v1alpha1", "kind": "InstanceSource", "name": "apps", "namespace": b.Namespace}
	if diff := cmp.Diff(want, ref); diff != "" {
		t.Errorf("spec.sourceRef (-want +got):\n%s", diff)
	}
	b.AwaitEvent(t, patience, "InstanceSource", "apps", "NewArtifact", "stored artifact for revision main@sha1:1: 4 instances")

	// A revision that renders the same changes nothing for Flux.
	rest := map[string]string{"apps/web.yaml": "# The web service.\n" + web, "apps/all.yaml": app("one", "{text: a}") + "---\n" + app("two", "{text: b}")}
	b.push("main@sha1:2", rest)
	b.rendered("main@sha1:2")
	_, second := b.external("apps")
	rest["README.md"] = "more"
	b.push("main@sha1:3", rest)
	b.rendered("main@sha1:3")
	_, third := b.external("apps")
	if diff := cmp.Diff(second, third); diff != "" || second.Digest == a.Digest {
		t.Errorf("artifact (-before +after):\n%s", diff)
	}

	// A mistake keeps the artifact. Its place is in the status and in an Event.
	rest["apps/all.yaml"] = app("one", "\n  txt: a") + "---\n" + app("two", "{text: b}")
	b.push("main@sha1:4", rest)
	const wrong = `apps/all.yaml:5:3: spec.txt: unknown field; did you mean "text"?`
	in = b.failed("RenderFailed", wrong)
	if in.Status.ObservedSourceRevision != "main@sha1:3" || !apimeta.IsStatusConditionTrue(in.Status.Conditions, "Stalled") {
		t.Errorf("status %+v", in.Status)
	}
	b.AwaitEvent(t, patience, "InstanceSource", "apps", "RenderFailed", wrong)
	harness.Eventually(t, patience, func(context.Context) error {
		object, kept := b.external("apps")
		if conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions"); len(conditions) != 1 ||
			conditions[0].(map[string]any)["status"] != "False" || conditions[0].(map[string]any)["reason"] != "RenderFailed" {
			return fmt.Errorf("conditions %v", conditions)
		}
		if diff := cmp.Diff(third, kept); diff != "" {
			return fmt.Errorf("artifact (-before +after):\n%s", diff)
		}
		return nil
	})
	if len(b.download(third)) != 3 {
		t.Error("the last artifact is not served any more")
	}
	rest["apps/all.yaml"] = app("one", "{text: a}") + "---\n" + app("two", "{text: b}")
	b.push("main@sha1:5", rest)
	b.rendered("main@sha1:5")
	if _, again := b.external("apps"); again.Revision != third.Revision {
		t.Errorf("revision %s; want %s", again.Revision, third.Revision)
	}

	// Another module renders all instances again.
	b.platform(strings.Replace(appModule, "data: text: input.spec.text", `data: text: input.spec.text + "!"`, 1))
	harness.Eventually(t, patience, func(context.Context) error {
		_, a := b.external("apps")
		if a.Digest == third.Digest {
			return fmt.Errorf("the artifact is still %s", a.Revision)
		}
		if web := b.download(a)[graphFile(b.Namespace, "web")]; !strings.Contains(web, "text: hello!") {
			return fmt.Errorf("graph %s", web)
		}
		return nil
	})
}

// graphFile returns the file of the graph of an instance.
func graphFile(namespace, name string) string {
	return namespace + "/" + v1alpha1.GraphName("example.org", "App", namespace, name) + ".yaml"
}

// byCommandLine returns the manifest of an instance as pequod render makes it.
func (b *env) byCommandLine(text string) string {
	b.t.Helper()
	decoded, err := transform.Decode(b.catalog.Of(types.NamespacedName{Namespace: b.Namespace, Name: "app"}).Sources)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := decoded.Load()
	if err != nil {
		b.t.Fatal(err)
	}
	for in, problems := range render.Instances("web.yaml", []byte(text)) {
		problems = append(problems, in.SetNamespaces(p, b.Namespace)...)
		result := (&render.Renderer{}).Render(in, p)
		if problems = append(problems, result.Problems...); len(problems) > 0 {
			b.t.Fatal(problems)
		}
		manifest, err := yaml.Marshal(result.Graph)
		if err != nil {
			b.t.Fatal(err)
		}
		return string(manifest)
	}
	return ""
}
