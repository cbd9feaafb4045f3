package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/dependson"
	upstream "sigs.k8s.io/cli-utils/pkg/object/graph"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func parse(t *testing.T, spec string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = "web", "team"
	if err := yaml.UnmarshalStrict([]byte(spec), &rg.Spec); err != nil {
		t.Fatal(err)
	}
	return rg
}

func mustPlain(t *testing.T, spec string, tool Tool) []*unstructured.Unstructured {
	t.Helper()
	objects, problems := Plain(parse(t, spec), tool)
	for _, p := range problems {
		t.Error(p)
	}
	return objects
}

const whole = `
graph:
  nodes:
  - id: service
    resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}
    dependencies: [deployment, role, thing, volume]
    readyWhen: [{type: ConditionMatch, conditionType: Ready}, {type: ServiceLoadBalancerReady}]
    applyPolicy: {timeout: 5m, fieldManager: pequod, conflictPolicy: Error, recreate: Never, mode: Apply}
  - id: deployment
    resource:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: web
        annotations:
          config.kubernetes.io/depends-on: "/namespaces/team/ConfigMap/settings, /namespaces/team/PersistentVolumeClaim/data"
          argocd.argoproj.io/sync-options: ServerSideApply=true
          example.com/own: kept
    dependencies: [volume]
    applyPolicy: {deletionPolicy: Orphan}
  - id: role
    resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web, namespace: wrong}}
  - id: thing
    resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}
  - id: volume
    resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}
  - id: scratch
    resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: scratch}}
    applyPolicy: {deletionPolicy: Delete}
  - id: elsewhere
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: own}}
  - id: namespace
    resource: {apiVersion: v1, kind: Namespace, metadata: {name: own}}
  outputs:
    endpoint: {$from: service.spec.clusterIP}
`

// line is what the tests look at in an object.
type line struct {
	Object      string
	Annotations map[string]string
}

func lines(objects []*unstructured.Unstructured) []line {
	var ls []line
	for _, u := range objects {
		ls = append(ls, line{u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName(), u.GetAnnotations()})
	}
	return ls
}

func TestPlain(t *testing.T) {
	const dep = "config.kubernetes.io/depends-on"
	const deploymentNeeds = "/namespaces/team/ConfigMap/settings,/namespaces/team/PersistentVolumeClaim/data"
	const serviceNeeds = "apps/namespaces/team/Deployment/web,rbac.authorization.k8s.io/ClusterRole/web,example.com/Thing/t,/namespaces/team/PersistentVolumeClaim/data"
	const keep = "Prune=false,Delete=false"
	for _, test := range []struct {
		tool Tool
		want []line
	}{
		{AnyTool, []line{
			{"ClusterRole /web", nil},
			{"Thing /t", nil},
			{"PersistentVolumeClaim team/data", map[string]string{lifecycleDeletion: "detach"}},
			{"PersistentVolumeClaim team/scratch", nil},
			{"Namespace /own", map[string]string{lifecycleDeletion: "detach"}},
			{"Deployment team/web", map[string]string{dep: deploymentNeeds, argoSyncOptions: "ServerSideApply=true", "example.com/own": "kept", lifecycleDeletion: "detach"}},
			{"ConfigMap own/settings", nil},
			{"Service team/web", map[string]string{dep: serviceNeeds}},
		}},
		{ArgoCD, []line{
			{"ClusterRole /web", map[string]string{argoSyncWave: "0"}},
			{"Thing /t", map[string]string{argoSyncWave: "0"}},
			{"PersistentVolumeClaim team/data", map[string]string{argoSyncWave: "0", argoSyncOptions: keep}},
			{"PersistentVolumeClaim team/scratch", map[string]string{argoSyncWave: "0"}},
			{"Namespace /own", map[string]string{argoSyncWave: "0", argoSyncOptions: keep}},
			{"Deployment team/web", map[string]string{dep: deploymentNeeds, argoSyncWave: "1", argoSyncOptions: "ServerSideApply=true," + keep, "example.com/own": "kept"}},
			{"ConfigMap own/settings", map[string]string{argoSyncWave: "1"}},
			{"Service team/web", map[string]string{dep: serviceNeeds, argoSyncWave: "2"}},
		}},
		{Flux, []line{
			{"ClusterRole /web", nil},
			{"Thing /t", nil},
			{"PersistentVolumeClaim team/data", map[string]string{fluxPrune: "disabled"}},
			{"PersistentVolumeClaim team/scratch", nil},
			{"Namespace /own", map[string]string{fluxPrune: "disabled"}},
			{"Deployment team/web", map[string]string{dep: deploymentNeeds, argoSyncOptions: "ServerSideApply=true", "example.com/own": "kept", fluxPrune: "disabled"}},
			{"ConfigMap own/settings", nil},
			{"Service team/web", map[string]string{dep: serviceNeeds}},
		}},
	} {
		t.Run(string(test.tool), func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(mustPlain(t, whole, test.tool))); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// What we write is read by cli-utils: its objects are those of the graph, and
// its order is ours.
func TestPlainIsReadByCliUtils(t *testing.T) {
	if dependsOnAnnotation != dependson.Annotation {
		t.Errorf("cli-utils reads %s", dependson.Annotation)
	}
	objects := mustPlain(t, whole, AnyTool)
	byID := map[object.ObjMetadata]bool{}
	for _, u := range objects {
		byID[object.UnstructuredToObjMetadata(u)] = true
	}
	known := 0
	for _, u := range objects {
		set, err := dependson.ReadAnnotation(u)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range set {
			if byID[id] {
				known++
			}
		}
	}
	if known != 5 { // all but the author's own, which isn't part of the graph
		t.Errorf("%d dependencies name objects of the graph", known)
	}
	delete(objects[5].Object["metadata"].(map[string]any)["annotations"].(map[string]any), dependson.Annotation)
	if _, err := upstream.SortObjs(objects); err != nil {
		t.Error(err)
	}
}

func TestPlainKeepsValues(t *testing.T) {
	objects := mustPlain(t, `
graph:
  nodes:
  - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {big: "9007199254740993"}, count: 9007199254740993, f: 1.5}}`, AnyTool)
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "team"},
		"data": map[string]any{"big": "9007199254740993"}, "count": int64(9007199254740993), "f": 1.5,
	}
	if diff := cmp.Diff(want, objects[0].Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

func TestPlainOwnAnnotations(t *testing.T) {
	const spec = `
deletionPolicy: Orphan
graph:
  nodes:
  - id: a
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {
      argocd.argoproj.io/sync-wave: "-5", argocd.argoproj.io/sync-options: "Prune=confirm , Replace=true",
      kustomize.toolkit.fluxcd.io/prune: enabled, client.lifecycle.config.k8s.io/deletion: own}}}
  - id: b
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
    dependencies: [a]
    applyPolicy: {deletionPolicy: Delete}`
	for _, test := range []struct {
		tool Tool
		key  string
		want [2]string
	}{
		{ArgoCD, argoSyncWave, [2]string{"-5", "1"}},
		{ArgoCD, argoSyncOptions, [2]string{"Prune=confirm,Replace=true,Delete=false", ""}},
		{Flux, fluxPrune, [2]string{"enabled", ""}},
		{AnyTool, lifecycleDeletion, [2]string{"own", ""}},
	} {
		objects := mustPlain(t, spec, test.tool)
		got := [2]string{objects[0].GetAnnotations()[test.key], objects[1].GetAnnotations()[test.key]}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.key, got, test.want)
		}
	}
}

const refused = `
graph:
  nodes:
  - id: read
    externalRef: {apiVersion: v1, kind: ConfigMap, name: x}
  - id: late
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {a.b: {$from: read.data.x}, b: {$from: read.data.y}}}
  - id: secret
    resource: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: {$generate: {length: 9}}}}
    applyPolicy: {mode: Create}
  - id: adopted
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: adopted}}
    readyWhen: [{type: Expression, expr: object.x}, {type: ConditionMatch, conditionType: Ready, conditionStatus: "False"}, {type: ConditionMatch, conditionType: Synced}]
    applyPolicy: {mode: Adopt, conflictPolicy: Force, fieldManager: me, ignoreFields: [spec.x], recreate: OnImmutable}
  - id: fine
    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
    readyWhen: [{type: ConditionMatch, conditionType: Ready, conditionStatus: "True"}, {type: Exists}]
`

func TestPlainRefuses(t *testing.T) {
	both := []string{
		"node read: externalRef: an object that is only read can't be carried by plain manifests (they hold what is applied, and nothing else)",
		`node late: resource.data["a.b"]: a late reference can't be carried by plain manifests (nothing resolves it outside the cluster)`,
		"node late: resource.data.b: a late reference can't be carried by plain manifests (nothing resolves it outside the cluster)",
		"node secret: resource.stringData.p: a generated value can't be carried by plain manifests (it is made in the cluster)",
		"node secret: applyPolicy.mode: mode Create can't be carried by plain manifests",
		"node adopted: readyWhen[0]: a readiness expression can't be carried by plain manifests (whoever applies them judges readiness by rules of its own)",
		"node adopted: readyWhen[1]: a condition to wait for can't be carried by plain manifests (the condition Ready, which everybody waits for, can)",
		"node adopted: readyWhen[2]: a condition to wait for can't be carried by plain manifests (the condition Ready, which everybody waits for, can)",
		"node adopted: applyPolicy.mode: mode Adopt can't be carried by plain manifests",
	}
	const (
		force    = "node adopted: applyPolicy.conflictPolicy: conflictPolicy Force can't be carried by plain manifests (Argo CD and Flux always force; annotate for one of them)"
		manager  = "node adopted: applyPolicy.fieldManager: a field manager can't be carried by plain manifests (each tool has its own)"
		ignore   = "node adopted: applyPolicy.ignoreFields: fields to ignore can't be carried by plain manifests (leave them out of the resource)"
		recreate = "node adopted: applyPolicy.recreate: recreate OnImmutable can't be carried by plain manifests (Flux does it; annotate for Flux)"
	)
	for _, test := range []struct {
		tool Tool
		want []string
	}{
		{AnyTool, append(both[:len(both):len(both)], force, manager, ignore, recreate)},
		{ArgoCD, append(both[:len(both):len(both)], manager, ignore, recreate)},
		{Flux, append(both[:len(both):len(both)], manager, ignore)},
	} {
		objects, problems := Plain(parse(t, refused), test.tool)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: problems (-want +got):\n%s", test.tool, diff)
		}
		if objects != nil {
			t.Errorf("%q: objects beside problems", test.tool)
		}
	}
}

func TestPlainRefusesAnnotations(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: "
	for _, test := range []struct {
		name, spec, want string
		tool             Tool
	}{
		{"depends-on", `graph: {nodes: [{id: a, resource: ` + cm + `a, annotations: {config.kubernetes.io/depends-on: "apps/x"}}}}]}`,
			`node a: resource.metadata.annotations["config.kubernetes.io/depends-on"]: "apps/x" names no object (group/namespaces/namespace/kind/name, or group/kind/name)`, AnyTool},
		{"a wave", `graph: {nodes: [{id: a, resource: ` + cm + `a, annotations: {argocd.argoproj.io/sync-wave: first}}}}]}`,
			`node a: resource.metadata.annotations["argocd.argoproj.io/sync-wave"]: "first" is not a number`, ArgoCD},
		{"a wave before its need", `graph: {nodes: [{id: a, resource: ` + cm + `a, annotations: {argocd.argoproj.io/sync-wave: "-1"}}}, dependencies: [b]}, {id: b, resource: ` + cm + `b}}}]}`,
			`node a: resource.metadata.annotations["argocd.argoproj.io/sync-wave"]: wave -1 is before wave 0 of node b, which must be ready first (leave the annotation out, it is written from the graph)`, ArgoCD},
		{"a broken graph", `graph: {nodes: [{id: a, resource: ` + cm + `a}}, dependencies: [b]}, {id: b, resource: ` + cm + `b}}, dependencies: [a]}]}`,
			"node a: dependencies[0]: cycle: a → b → a", AnyTool},
		{"a tool", "graph: {nodes: []}", `no annotations are known for "helm" (one of argocd, flux)`, "helm"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Plain(parse(t, test.spec), test.tool)
			if len(problems) != 1 || problems[0].String() != test.want {
				t.Errorf("problems %v, want %s", problems, test.want)
			}
		})
	}
}

func TestPlainFluxForce(t *testing.T) {
	objects := mustPlain(t, `graph: {nodes: [{id: a, resource: {apiVersion: batch/v1, kind: Job, metadata: {name: a}}, applyPolicy: {recreate: OnImmutable, conflictPolicy: Force}}]}`, Flux)
	if got := objects[0].GetAnnotations(); len(got) != 1 || got[fluxForce] != "enabled" {
		t.Errorf("annotations %v", got)
	}
}
