package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/docsession"
)

const (
	gitopsDoc  = "docs/gitops.md"
	samples    = "config/samples"
	healthFile = samples + "/argocd/argocd-cm.yaml"
	healthKey  = "resource.customizations.health.platform.pequod.io_ResourceGraph"
)

// graphStates are ResourceGraphs as the applier leaves them, with the expected
// health in Argo CD and the expected kstatus, which Flux, Helm and kubectl wait
// use.
var graphStates = []struct {
	name, graph    string
	health, reason string
	// kstatus is empty for suspended objects, which kstatus does not know.
	kstatus status.Status
}{{
	name:   "no status yet",
	graph:  `metadata: {generation: 1}`, // and the default of the definition
	health: "Progressing", reason: "the applier hasn't seen it yet",
	kstatus: status.InProgressStatus,
}, {
	name: "ready",
	graph: `
metadata: {generation: 2}
status:
  phase: Completed
  observedGeneration: 2
  conditions: [{type: Ready, status: "True", message: 2 objects are ready, reason: Completed, observedGeneration: 2}]`,
	health: "Healthy", reason: "2 objects are ready", kstatus: status.CurrentStatus,
}, {
	name: "observedGeneration behind",
	graph: `
metadata: {generation: 3}
status:
  phase: Completed
  observedGeneration: 2
  conditions: [{type: Ready, status: "True", message: 2 objects are ready, reason: Completed, observedGeneration: 2}]`,
	health: "Progressing", reason: "the applier hasn't seen this revision yet", kstatus: status.InProgressStatus,
}, {
	name: "reconciling",
	graph: `
metadata: {generation: 2}
status:
  phase: Executing
  observedGeneration: 2
  conditions:
  - {type: Ready, status: Unknown, message: deployment isn't ready, reason: Progressing}
  - {type: Reconciling, status: "True", message: deployment isn't ready, reason: Progressing}`,
	health: "Progressing", reason: "deployment isn't ready", kstatus: status.InProgressStatus,
}, {
	name: "failing, tried again",
	graph: `
metadata: {generation: 2}
status:
  phase: Executing
  observedGeneration: 2
  conditions:
  - {type: Ready, status: "False", message: "service: quota exceeded", reason: QuotaExceeded}
  - {type: Reconciling, status: "True", message: "service: quota exceeded", reason: QuotaExceeded}`,
	health: "Progressing", reason: "service: quota exceeded", kstatus: status.InProgressStatus,
}, {
	name: "stalled",
	graph: `
metadata: {generation: 2}
status:
  phase: Failed
  observedGeneration: 2
  conditions:
  - {type: Ready, status: "False", message: "config: data.a is owned by kubectl", reason: Conflict}
  - {type: Stalled, status: "True", message: "config: data.a is owned by kubectl", reason: Conflict}`,
	health: "Degraded", reason: "config: data.a is owned by kubectl", kstatus: status.FailedStatus,
}, {
	name: "failed",
	graph: `
metadata: {generation: 2}
status:
  phase: Failed
  observedGeneration: 2
  conditions: [{type: Ready, status: "False", message: "config: Forbidden", reason: Forbidden}]`,
	health: "Degraded", reason: "config: Forbidden",
}, {
	name: "a new revision of what stalled",
	graph: `
metadata: {generation: 3}
status:
  phase: Failed
  observedGeneration: 2
  conditions:
  - {type: Ready, status: "False", message: old, reason: Conflict}
  - {type: Stalled, status: "True", message: old, reason: Conflict}`,
	health: "Progressing", reason: "the applier hasn't seen this revision yet", kstatus: status.InProgressStatus,
}, {
	name: "suspended",
	graph: `
metadata: {generation: 2}
spec: {suspend: true}
status:
  observedGeneration: 2
  conditions: [{type: Ready, status: Unknown, message: the graph is suspended, reason: Suspended}]`,
	health: "Suspended", reason: "the applier leaves it alone",
}, {
	name: "paused",
	graph: `
metadata: {generation: 2, labels: {pequod.io/paused: "true"}}
status:
  phase: Completed
  observedGeneration: 2
  conditions: [{type: Ready, status: "True", message: 2 objects are ready, reason: Completed}]`,
	health: "Suspended", reason: "the applier leaves it alone",
}, {
	name:   "suspended before it was seen",
	graph:  `{metadata: {generation: 1}, spec: {suspend: true}}`,
	health: "Suspended", reason: "the applier leaves it alone",
}, {
	name: "being deleted",
	graph: `
metadata: {generation: 3, deletionTimestamp: "2026-01-02T03:04:05Z"}
status:
  phase: Executing
  observedGeneration: 3
  conditions:
  - {type: Ready, status: "False", message: "PersistentVolumeClaim shop/data is held by finalizer x", reason: Deleting}
  - {type: Reconciling, status: "True", message: "PersistentVolumeClaim shop/data is held by finalizer x", reason: Deleting}`,
	health: "Progressing", reason: "is being deleted: PersistentVolumeClaim shop/data is held by finalizer x",
	kstatus: status.TerminatingStatus,
}, {
	name: "can't be deleted",
	graph: `
metadata: {generation: 3, deletionTimestamp: "2026-01-02T03:04:05Z"}
status:
  phase: Failed
  observedGeneration: 3
  conditions:
  - {type: Ready, status: "False", message: Forbidden, reason: DeletionFailed}
  - {type: Stalled, status: "True", message: Forbidden, reason: DeletionFailed}`,
	health: "Degraded", reason: "Forbidden", kstatus: status.TerminatingStatus,
}}

// TestArgoHealth runs the health check for Argo CD.
func TestArgoHealth(t *testing.T) {
	var cm struct{ Data map[string]string }
	readYAML(t, healthFile, &cm)
	script := cm.Data[healthKey]
	if script == "" {
		t.Fatalf("%s has no key %s", healthFile, healthKey)
	}
	for _, test := range graphStates {
		t.Run(test.name, func(t *testing.T) {
			got, message, err := runHealth(script, stored(t, objectOf(t, test.graph)))
			if err != nil {
				t.Fatal(err)
			}
			if got != test.health || message != test.reason {
				t.Errorf("%s: %q; want %s: %q", got, message, test.health, test.reason)
			}
		})
	}
}

// TestKstatus checks that kstatus is right without a custom health check.
func TestKstatus(t *testing.T) {
	for _, test := range graphStates {
		if test.kstatus == "" {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			object := stored(t, objectOf(t, test.graph))
			got, err := status.Compute(&unstructured.Unstructured{Object: object})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != test.kstatus {
				t.Errorf("%s (%s); want %s", got.Status, got.Message, test.kstatus)
			}
		})
	}
}

// stored returns a graph as the API server stores it: a missing status gets the
// default of the CRD.
func stored(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	if object["status"] != nil {
		return object
	}
	data, err := os.ReadFile("config/crd/platform.pequod.io_resourcegraphs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]struct{ Default json.RawMessage }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		if text := version.Schema.OpenAPIV3Schema.Properties["status"].Default; text != nil {
			var status map[string]any
			if err := utiljson.Unmarshal(text, &status); err != nil {
				t.Fatal(err)
			}
			object["status"] = status
		}
	}
	return object
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // numbers as an API client decodes them
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetAPIVersion("platform.pequod.io/v1alpha1")
	u.SetKind("ResourceGraph")
	u.SetName("web")
	return u.Object
}

// runHealth runs a script as Argo CD does: with the base and table libraries, and
// the object in the global variable obj.
func runHealth(script string, object map[string]any) (health, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", errors.New("the script returns no table")
	}
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message")), nil
}

func luaValue(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, value := range v {
			table.RawSetString(key, luaValue(state, value))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, value := range v {
			table.Append(luaValue(state, value))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// TestGitOpsListings compares the document's listings with the sample files, and
// checks that all others are valid YAML.
func TestGitOpsListings(t *testing.T) {
	text, err := os.ReadFile(gitopsDoc)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docsession.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, b := range blocks {
		listing := strings.Join(b.Lines, "\n") + "\n"
		if ext := filepath.Ext(b.File); ext == ".yaml" {
			documentsOf(t, b.File, []byte(listing))
		}
		sample, is := sampleOf[b.File]
		if !is {
			continue
		}
		shown[b.File] = true
		file, err := os.ReadFile(filepath.Join(samples, sample))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(file), listing); diff != "" {
			t.Errorf("%s isn't what %s shows (-sample +listing):\n%s", sample, gitopsDoc, diff)
		}
	}
	for file := range sampleOf {
		if !shown[file] {
			t.Errorf("%s doesn't show %s", gitopsDoc, file)
		}
	}
}

// TestFleetListings checks that the configuration in docs/fleets.md is valid YAML, and that it names
// the clusters of the document.
func TestFleetListings(t *testing.T) {
	text, err := os.ReadFile("docs/fleets.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docsession.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var clusters, inputs, paths []string
	for _, b := range blocks {
		listing := []byte(strings.Join(b.Lines, "\n") + "\n")
		if b.File == "clusters.yaml" {
			var all []struct{ Name string }
			if err := yaml.Unmarshal(listing, &all); err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				clusters = append(clusters, c.Name)
			}
		}
		if !strings.HasPrefix(b.File, "fleet/") {
			continue
		}
		for _, object := range documentsOf(t, b.File, listing) {
			if path, ok, _ := unstructured.NestedString(object, "spec", "path"); ok {
				paths = append(paths, path)
			}
			all, _, _ := unstructured.NestedSlice(object, "spec", "inputs")
			for _, in := range all {
				inputs = append(inputs, in.(map[string]any)["cluster"].(string))
			}
			resources, _, _ := unstructured.NestedSlice(object, "spec", "resources")
			for _, r := range resources {
				path, _, _ := unstructured.NestedString(r.(map[string]any), "spec", "path")
				paths = append(paths, path)
			}
			generators, _, _ := unstructured.NestedSlice(object, "spec", "generators")
			for _, g := range generators {
				directories, _, _ := unstructured.NestedSlice(g.(map[string]any), "git", "directories")
				paths = append(paths, directories[0].(map[string]any)["path"].(string))
			}
		}
	}
	if diff := cmp.Diff(clusters, inputs); diff != "" || len(clusters) == 0 {
		t.Errorf("inputs of the ResourceSet (-clusters.yaml +inputs):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"./graphs/eu-1", "./graphs/<< inputs.cluster >>", "graphs/*"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// sampleOf maps files of the document's repository to the sample files.
var sampleOf = map[string]string{
	"clusters/flux.yaml":           "flux/shop.yaml",
	"clusters/flux-instances.yaml": "flux/instances.yaml",
	"clusters/argocd.yaml":         "argocd/shop.yaml",
	"clusters/argocd-cm.yaml":      "argocd/argocd-cm.yaml",
	"access/kustomization.yaml":    "argocd/access.yaml",
}

// TestSamples checks that the configuration of Flux and Argo CD refers to
// directories and objects that exist in the document.
func TestSamples(t *testing.T) {
	names := map[string]bool{}
	var all []map[string]any
	for _, file := range []string{"flux/shop.yaml", "flux/instances.yaml", "argocd/shop.yaml"} {
		data, err := os.ReadFile(filepath.Join(samples, file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, documentsOf(t, file, data)...)
	}
	for _, object := range all {
		u := unstructured.Unstructured{Object: object}
		names[u.GetKind()+" "+u.GetName()] = true
	}
	paths := []string{}
	for _, object := range all {
		u := unstructured.Unstructured{Object: object}
		if path, ok, _ := unstructured.NestedString(object, "spec", "path"); ok {
			paths = append(paths, strings.TrimPrefix(path, "./"))
		}
		if source, ok, _ := unstructured.NestedStringMap(object, "spec", "sourceRef"); ok {
			// An ExternalArtifact has the name of the InstanceSource that makes it.
			if kind := strings.Replace(source["kind"], "ExternalArtifact", "InstanceSource", 1); !names[kind+" "+source["name"]] {
				t.Errorf("%s %s: there is no %s %s", u.GetKind(), u.GetName(), kind, source["name"])
			}
		}
		needs, _, _ := unstructured.NestedSlice(object, "spec", "dependsOn")
		for _, n := range needs {
			if name := n.(map[string]any)["name"].(string); !names["Kustomization "+name] {
				t.Errorf("%s %s: there is no Kustomization %s", u.GetKind(), u.GetName(), name)
			}
		}
		sources, _, _ := unstructured.NestedSlice(object, "spec", "sources")
		for _, s := range sources {
			paths = append(paths, s.(map[string]any)["path"].(string))
		}
	}
	slices.Sort(paths)
	if diff := cmp.Diff([]string{"", "access", "access", "access", "apps", "graphs", "graphs"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// documentsOf returns the objects in a file.
func documentsOf(t *testing.T, name string, data []byte) (all []map[string]any) {
	t.Helper()
	for r := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data))); ; {
		buf := make([]byte, len(data)+1)
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.UnmarshalStrict(buf[:n], &object); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all = append(all, object)
	}
}
