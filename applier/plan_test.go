package applier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/test/harness"
)

// planOf returns a plan as text, with a line for each node and each removal.
func planOf(t *testing.T, a *applier.Applier, rg *v1alpha1.ResourceGraph, o applier.PlanOptions) (*applier.Plan, []string) {
	t.Helper()
	o.Prune = true
	plan, err := a.Plan(t.Context(), rg, o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range plan.Nodes {
		line := n.ID + ": " + string(n.Op)
		for _, u := range n.Unknown {
			line += " ?" + u.Path.String()
		}
		for _, d := range n.Drift {
			line += fmt.Sprintf(" drift %s by %s", d.Field, d.Manager)
		}
		for _, c := range n.Taken {
			line += fmt.Sprintf(" takes %s of %s", c.Field, c.Manager)
		}
		for _, text := range []string{n.Unchecked, n.WaitReason, n.RecreateReason} {
			if text != "" {
				line += "; " + text
			}
		}
		if n.Failure != nil {
			line += "; " + n.Failure.Reason + ": " + n.Failure.Message
		}
		if n.PreviousOwner != nil {
			line += "; from " + n.PreviousOwner.String()
		}
		lines = append(lines, line)
	}
	for _, l := range plan.Removals {
		line := l.Key.Kind + " " + l.Key.Name + ": " + string(l.Op)
		if l.NewOwner != nil {
			line += " to " + l.NewOwner.Name
		}
		if l.Failure != nil {
			line += "; " + l.Failure.Reason + ": " + l.Failure.Message
		}
		lines = append(lines, line)
	}
	return plan, lines
}

func applied(t *testing.T, a *applier.Applier, rg *v1alpha1.ResourceGraph) {
	t.Helper()
	result, err := a.Apply(t.Context(), rg, applier.Options{
		Options: engine.Options{Prune: true}, Timeout: 30 * time.Second, Wait: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.Phase != engine.Completed {
		t.Fatalf("%s: %v", result.Phase, result.Statuses)
	}
}

const plannedGraph = `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b, c: d}}
- id: deployment
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: nginx}]}
  dependencies: [config]
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- id: late
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {ip: {$from: service.spec.clusterIP}, port: {$from: "string(service.spec.ports[0].port)"}}}
  dependencies: [deployment]
`

func TestPlan(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	rg := parse(t, c, "web", plannedGraph)

	plan, lines := planOf(t, a, rg, applier.PlanOptions{})
	want := []string{
		"config: created", "deployment: created", "service: created",
		"late: created ?data.ip ?data.port; data.ip is known after the apply",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("nothing is there (-want +got):\n%s", diff)
	}
	if n := plan.Nodes[2]; n.Live != nil || n.Object.Object["spec"].(map[string]any)["clusterIP"] != nil {
		t.Errorf("an address that the dry run made up is shown: %v", n.Object)
	}
	if list, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("a plan wrote: %v, %v", list.Items, err) // kube-root-ca.crt exists already
	}

	applied(t, a, rg)
	_, lines = planOf(t, a, rg, applier.PlanOptions{})
	want = []string{"config: unchanged", "deployment: unchanged", "service: unchanged", "late: unchanged"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("nothing changed (-want +got):\n%s", diff)
	}

	// Dependents see a change, and objects that left the graph are removed.
	changed := parse(t, c, "web", strings.NewReplacer(
		"port: 80", "port: 81",
		"- id: config\n", "- id: other\n", "{name: web}, data: {a: b, c: d}", "{name: other}, data: {a: b}",
		"dependencies: [config]", "dependencies: [other]",
	).Replace(plannedGraph))
	plan, lines = planOf(t, a, changed, applier.PlanOptions{})
	want = []string{"other: created", "deployment: unchanged", "service: configured", "late: configured", "ConfigMap web: deleted"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("changed (-want +got):\n%s", diff)
	}
	if data := plan.Nodes[3].Object.Object["data"].(map[string]any); data["port"] != "81" {
		t.Errorf("a reference to a changed object: %v", data)
	}
	if plan.Removals[0].Live == nil {
		t.Error("the object that leaves isn't shown")
	}

	// Without dry runs, existing objects count as changed and others as created.
	_, lines = planOf(t, a, changed, applier.PlanOptions{NoDryRun: true})
	want = []string{"other: created", "deployment: unchanged", "service: configured", "late: unchanged", "ConfigMap web: deleted"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("offhand (-want +got):\n%s", diff)
	}
	applied(t, a, changed)
	asPlanned(t, c, plan)
}

func TestPlanDrift(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	rg := parse(t, c, "web", plannedGraph)
	applied(t, a, rg)
	edit := func(patch string) {
		t.Helper()
		_, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			t.Fatal(err)
		}
	}
	edit(`{"data": {"a": "x", "c": null, "z": "own"}}`)
	plan, lines := planOf(t, a, rg, applier.PlanOptions{})
	want := "config: corrected drift data.a by kubectl-edit drift data.c by  takes data.a of kubectl-edit"
	if lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	if diff := cmp.Diff(map[string]any{"a": "b", "c": "d", "z": "own"}, plan.Nodes[0].Object.Object["data"]); diff != "" {
		t.Errorf("the corrected object (-want +got):\n%s", diff)
	}
	// With another desired value of the same field, it is a conflict.
	_, lines = planOf(t, a, parse(t, c, "web", strings.Replace(plannedGraph, "a: b", "a: other", 1)), applier.PlanOptions{})
	if want = "config: ; Conflict: data.a is owned by kubectl-edit"; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	if want = "deployment: unchanged"; lines[1] != want {
		t.Errorf("got  %s\nwant %s", lines[1], want)
	}
	o := applier.PlanOptions{}
	o.ForceConflicts = true
	_, lines = planOf(t, a, parse(t, c, "web", strings.Replace(plannedGraph, "a: b", "a: other", 1)), o)
	if want = "config: configured takes data.a of kubectl-edit"; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	applied(t, a, rg)
	asPlanned(t, c, plan)
}

func TestPlanFindings(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	group := c.Unique("plan") + ".example.com"
	space := c.Unique("plan-space")
	rg := parse(t, c, "all", `
nodes:
- id: bad
  resource: {apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {ports: [{port: 99999999, targetPort: 80}]}}
- id: behind
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: behind}}
  dependencies: [bad]
- id: definition
  resource:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: things.`+group+`}
    spec:
      group: `+group+`
      names: {kind: Thing, plural: things}
      scope: Namespaced
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
- id: thing
  resource: {apiVersion: `+group+`/v1, kind: Thing, metadata: {name: x}}
- id: space
  resource: {apiVersion: v1, kind: Namespace, metadata: {name: `+space+`}}
- id: inside
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: `+space+`}}
- id: unknown
  resource: {apiVersion: nowhere.example.com/v1, kind: Nothing, metadata: {name: x}}
- id: outside
  externalRef: {apiVersion: v1, kind: ConfigMap, name: outside}
- id: reader
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {x: {$from: outside.data.x}, y: known}}
- id: taken
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: taken}, data: {x: y}}
- id: token
  resource: {apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {password: {$generate: {length: 20}}}}
  applyPolicy: {mode: Create}
`)
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}, data: {x: z}}`)
	_, lines := planOf(t, a, rg, applier.PlanOptions{})
	want := []string{
		"bad: ; Invalid: spec.ports[0].port: Invalid value: 99999999: must be between 1 and 65535, inclusive",
		"behind: created",
		"definition: created",
		"thing: created; its CustomResourceDefinition comes with this graph",
		"space: created",
		"inside: created; its Namespace comes with this graph",
		"unknown: ; UnknownKind: the cluster knows no Nothing of nowhere.example.com/v1; check its apiVersion, or install its CustomResourceDefinition",
		"outside: observed; ConfigMap " + c.Namespace + "/outside doesn't exist",
		"reader: created ?data.x; data.x is known after the apply",
		"taken: ; AdoptionRequired: exists already and belongs to no graph: list it in spec.adopt.resources, or set applyPolicy.mode: Adopt",
		"token: created ?stringData.password; stringData.password is known after the apply",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanRecreate(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	const job = `
nodes:
- id: job
  resource:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: one}]}}}
  applyPolicy: {recreate: OnImmutable}
  readyWhen: [{type: Exists}]
`
	applied(t, a, parse(t, c, "job", job))
	changed := strings.Replace(job, "image: one", "image: two", 1)
	plan, lines := planOf(t, a, parse(t, c, "job", changed), applier.PlanOptions{})
	n := plan.Nodes[0]
	if n.Op != engine.Recreated || !strings.Contains(n.RecreateReason, "field is immutable") || n.Live == nil || n.Object == nil {
		t.Errorf("recreate: %v", lines)
	}
	_, lines = planOf(t, a, parse(t, c, "job", strings.Replace(changed, "recreate: OnImmutable", "recreate: Never", 1)), applier.PlanOptions{})
	if !strings.HasPrefix(lines[0], "job: ; Immutable: spec.template: ") {
		t.Errorf("never: %v", lines)
	}
}

func TestPlanAdopt(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	// As after kubectl apply, with the defaults of the API server.
	_, err := c.Client.AppsV1().RESTClient().Post().AbsPath("/apis/apps/v1/namespaces/"+c.Namespace+"/deployments").
		Param("fieldManager", "kubectl-client-side-apply").Body([]byte(`{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"old": "label", "app": "web"}},
		"spec": {"replicas": 3, "minReadySeconds": 5, "selector": {"matchLabels": {"app": "web"}},
			"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
				{"name": "web", "image": "old", "env": [{"name": "A", "value": "x"}]}, {"name": "sidecar", "image": "side"}]}}}}`)).
		DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rg := parse(t, c, "web", plannedGraph)
	rg.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit, Resources: []v1alpha1.ObjectRef{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}}
	plan, lines := planOf(t, a, rg, applier.PlanOptions{})
	if lines[1] != "deployment: adopted" {
		t.Fatal(lines)
	}
	applied(t, a, rg)
	asPlanned(t, c, plan)
}

// asPlanned compares the planned objects with the applied ones.
func asPlanned(t *testing.T, c *harness.Cluster, plan *applier.Plan) {
	t.Helper()
	kept := func(obj *unstructured.Unstructured) map[string]any {
		copied := obj.DeepCopy().Object
		delete(copied, "status")
		m := copied["metadata"].(map[string]any)
		for _, k := range []string{"managedFields", "resourceVersion", "generation", "annotations"} {
			delete(m, k)
		}
		return copied
	}
	for _, n := range plan.Nodes {
		if n.Live == nil {
			continue // the API server adds values to a recreated object
		}
		planned := n.Object
		if planned == nil {
			planned = n.Live
		}
		gv := schema.GroupVersion{Group: n.Key.Group, Version: n.Version}
		got := c.Get(t, gv.String(), n.Key.Kind, n.Key.Name)
		if diff := cmp.Diff(kept(got), kept(planned)); diff != "" {
			t.Errorf("%s isn't as planned (-real +planned):\n%s", n.ID, diff)
		}
	}
}

func newApplier(t testing.TB, c *harness.Cluster) *applier.Applier {
	t.Helper()
	return envOn(t, c, c.Config).applier
}

// parse returns a ResourceGraph with nodes and outputs from YAML.
func parse(t testing.TB, c *harness.Cluster, name, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	return (&env{Cluster: c, t: t}).graph(name, text)
}
