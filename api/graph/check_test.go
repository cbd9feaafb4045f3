package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// parse reads the YAML of spec.graph into a ResourceGraph of namespace team.
func parse(t testing.TB, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = "web", "team"
	if err := yaml.UnmarshalStrict([]byte(text), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	return rg
}

// sound is a graph without problems that uses every feature.
const sound = `
nodes:
- id: namespace
  externalRef: {apiVersion: v1, kind: Namespace, name: team}
- id: deployment
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, labels: {app: web}, annotations: {script: "echo ${HOME}"}}
    spec: {replicas: 3}
  readyWhen: [{type: DeploymentAvailable}, {type: ConditionMatch, conditionType: Progressing, conditionStatus: "True"}]
  applyPolicy: {mode: Apply, conflictPolicy: Force, recreate: OnImmutable, deletionPolicy: Orphan, timeout: 90s}
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: team}}
  dependencies: [deployment]
  readyWhen: [{type: Expression, expr: "object.spec.clusterIP != ''"}]
- id: password
  resource:
    apiVersion: v1
    kind: Secret
    metadata: {name: web}
    stringData: {password: {$generate: {length: 32}}}
  applyPolicy: {mode: Create}
- id: config
  resource:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: web, labels: {ip: {$from: service.spec.clusterIP}}}
    data: {uid: {$from: 'nodes["namespace"].metadata.uid'}}
outputs:
  endpoint: {$from: "service.spec.clusterIP + ':80'"}
  port: 80
  text: "$from nowhere"
violations:
- {path: spec.replicas, message: few, severity: Warning}
- {message: none}
`

func TestCheckSound(t *testing.T) {
	for _, p := range Check(parse(t, sound)) {
		t.Error(p)
	}
}

func TestCheck(t *testing.T) {
	const cm = "resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: "
	for _, test := range []struct {
		name, graph string
		want        []string
	}{
		{"ids", `
nodes:
- {` + cm + `a}}}
- {id: -web, ` + cm + `b}}}
- {id: web, ` + cm + `c}}}
- {id: web, ` + cm + `d}}}
- {id: ` + `"0123456789012345678901234567890123456789012345678901234567890123"` + `, ` + cm + `e}}}
- {id: A_b.c-9, ` + cm + `f}}}
- {id: "a b", ` + cm + `g}}}`, []string{
			"nodes[0]: has no id",
			`node -web: id: "-web" is not an id (` + idHint + `)`,
			"node web: id: nodes[2] and nodes[3] have the same id",
			`node 0123456789012345678901234567890123456789012345678901234567890123: id: "0123456789012345678901234567890123456789012345678901234567890123" is not an id (` + idHint + `)`,
			`node a b: id: "a b" is not an id (` + idHint + `)`,
		}},
		{"resource or externalRef", `
nodes:
- {id: none}
- {id: nothing, resource: null}
- {id: both, resource: {apiVersion: v1, kind: Pod, metadata: {name: x}}, externalRef: {apiVersion: v1, kind: Pod, name: y}}
- {id: empty, externalRef: {apiVersion: a/b/c}}`, []string{
			"node none: has neither resource nor externalRef",
			"node nothing: has neither resource nor externalRef",
			"node both: has both resource and externalRef (a node is one object)",
			"node empty: externalRef: has no kind",
			"node empty: externalRef: has no name",
			"node empty: externalRef.apiVersion: unexpected GroupVersion string: a/b/c",
		}},
		{"header of an object", `
nodes:
- {id: empty, resource: {}}
- {id: list, resource: []}
- {id: types, resource: {apiVersion: 1, kind: true, metadata: {name: [], namespace: 3, labels: {app: true, "a.b/c": 8, ok: "x"}, annotations: []}}}
- {id: metadata, resource: {apiVersion: v1, kind: Pod, metadata: x}}
- {id: cases, resource: {APIVERSION: v1, Kind: Pod, Metadata: {name: x}}}
- {id: version, resource: {apiVersion: a/b/c, kind: Pod, metadata: {name: ""}}}`, []string{
			"node empty: resource: has no apiVersion",
			"node empty: resource: has no kind",
			"node empty: resource: has no metadata.name",
			"node list: resource: is not a map",
			"node types: resource.apiVersion: is not a string",
			"node types: resource.kind: is not a string",
			"node types: resource.metadata.name: is not a string",
			"node types: resource.metadata.namespace: is not a string",
			`node types: resource.metadata.labels["a.b/c"]: is not a string (quote it)`,
			"node types: resource.metadata.labels.app: is not a string (quote it)",
			"node types: resource.metadata.annotations: is not a map",
			"node metadata: resource.metadata: is not a map",
			"node cases: resource: has no apiVersion",
			"node cases: resource: has no kind",
			"node cases: resource: has no metadata.name",
			"node version: resource.apiVersion: unexpected GroupVersion string: a/b/c",
			"node version: resource: has no metadata.name",
		}},
		{"dependencies", `
nodes:
- {id: deployment, ` + cm + `a}}, dependencies: [deployment]}
- {id: service, ` + cm + `b}}, dependencies: [deployment, deploymnt, "", other]}`, []string{
			"node deployment: dependencies[0]: depends on itself",
			`node service: dependencies[1]: no node "deploymnt" (did you mean "deployment"?)`,
			`node service: dependencies[2]: no node ""`,
			`node service: dependencies[3]: no node "other"`,
		}},
		{"references", `
nodes:
- {id: svc, resource: {apiVersion: v1, kind: Service, metadata: {name: {$from: svc.x}, namespace: {$from: cfg.x}}}}
- id: cfg
  resource:
    apiVersion: {$from: svc.x}
    kind: {$from: svc.x}
    metadata: {name: cfg}
    data:
      a: {$from: "svv.spec"}
      b.c: {$from: "svc."}
      d: [{$from: "svc.x", default: 1}]
      e: {$from: "cfg.data.a"}
      f: {$generate: {length: 3}}
- {id: meta, resource: {apiVersion: v1, kind: Pod, metadata: {$from: svc.x}}}
- {id: secret, resource: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {x: {$generate: {length: 3}}}, stringData: {k: {z: {$generate: {length: 3}}}}}, applyPolicy: {mode: Create}}
- {id: applied, resource: {apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {x: {$generate: {length: 3}}, k: {$generate: {}}}}}
- {id: whole, resource: {$from: svc.x}}
outputs:
  b: {$from: "cffg.x"}
  a.b: {$generate: {length: 3}}
  c: {deep: [{$from: ""}]}`, []string{
			"node svc: resource.metadata.name: a late reference is not allowed here (" + lateHint + ")",
			"node svc: resource.metadata.namespace: a late reference is not allowed here (" + lateHint + ")",
			"node svc: resource.metadata.name: reads the node itself (a late reference reads other nodes)",
			"node cfg: resource.apiVersion: a late reference is not allowed here (" + lateHint + ")",
			"node cfg: resource.kind: a late reference is not allowed here (" + lateHint + ")",
			"node cfg: resource.data.f: $generate is not allowed here (" + generateHint + ")",
			"node cfg: resource.data.d[0]: $from stands beside other keys: default (a late reference replaces a whole value; compose values inside the CEL expression)",
			`node cfg: resource.data.a: no node "svv" (did you mean "svc"?)`,
			`node cfg: resource.data["b.c"]: column 5: syntax error: unexpected end`,
			"node cfg: resource.data.e: reads the node itself (a late reference reads other nodes)",
			"node meta: resource.metadata: a late reference is not allowed here (" + lateHint + ")",
			"node secret: resource.data.x: $generate is not allowed here (" + generateHint + ")",
			"node secret: resource.stringData.k.z: $generate is not allowed here (" + generateHint + ")",
			"node applied: resource.stringData.x: $generate is not allowed here (" + generateHint + ")",
			"node applied: resource.stringData.k: $generate.length is missing",
			"node whole: resource: has no apiVersion",
			"node whole: resource: has no kind",
			"node whole: resource: has no metadata.name",
			"node whole: resource: a late reference is not allowed here (" + lateHint + ")",
			"node svc: resource.metadata.namespace: cycle: svc → cfg → svc (svc reads cfg at resource.metadata.namespace; cfg reads svc at resource.apiVersion)",
			`outputs["a.b"]: $generate is not allowed here (` + generateHint + `)`,
			`outputs.b: no node "cffg" (did you mean "cfg"?)`,
			"outputs.c.deep[0]: $from is empty",
		}},
		{"readiness", `
nodes:
- id: a
  ` + cm + `a}}
  readyWhen:
  - {type: Deployable}
  - {type: ConditionMatch, conditionStatus: "yes"}
  - {type: Expression}
  - {type: Expression, expr: "size(object.x)"}
  - {type: Expression, expr: "self.x"}
  - {}`, []string{
			`node a: readyWhen[0].type: unknown type "Deployable" (one of Exists, DeploymentAvailable, ConditionMatch, ServiceLoadBalancerReady, JobComplete, Expression)`,
			"node a: readyWhen[1].conditionType: is missing (ConditionMatch compares the status of a condition of this type)",
			`node a: readyWhen[1].conditionStatus: unknown status "yes" (one of True, False, Unknown)`,
			"node a: readyWhen[2].expr: is missing (as in object.status.phase == 'Running')",
			"node a: readyWhen[3].expr: yields an int, not true or false",
			`node a: readyWhen[4].expr: no variable "self" (a readiness expression reads object, the live object, and nothing else)`,
			"node a: readyWhen[5].type: is missing (one of Exists, DeploymentAvailable, ConditionMatch, ServiceLoadBalancerReady, JobComplete, Expression)",
		}},
		{"apply policy and violations", `
nodes:
- id: a
  ` + cm + `a}}
  applyPolicy: {mode: Merge, conflictPolicy: Ignore, recreate: Always, deletionPolicy: Keep, timeout: 5}
- {id: b, ` + cm + `b}}, applyPolicy: {timeout: -5s}}
violations:
- {message: x, severity: Fatal}`, []string{
			`node a: applyPolicy.mode: unknown mode "Merge" (one of Apply, Create, Adopt)`,
			`node a: applyPolicy.conflictPolicy: unknown policy "Ignore" (one of Error, Force)`,
			`node a: applyPolicy.recreate: unknown policy "Always" (one of Never, OnImmutable)`,
			`node a: applyPolicy.deletionPolicy: unknown policy "Keep" (one of Delete, Orphan)`,
			`node a: applyPolicy.timeout: "5" is not a duration (such as 90s or 5m)`,
			`node b: applyPolicy.timeout: "-5s" is not a duration (such as 90s or 5m)`,
			`violations[0].severity: unknown severity "Fatal" (one of Error, Warning, Info)`,
		}},
		{"two nodes for one object", `
nodes:
- {id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
- {id: b, resource: {apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web, namespace: team}}}
- {id: c, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: other}}}
- {id: d, externalRef: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: other}}
- {id: e, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web, namespace: x}}}
- {id: f, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}}}
- {id: g, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: web}}}
- {id: h, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: web, namespace: team}}}
- {id: i, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: web, namespace: other}}}
- {id: j, resource: {apiVersion: other.com/v1, kind: Thing, metadata: {name: web}}}`, []string{
			"node b: resource: Deployment.apps team/web is also node a (two nodes for one object)",
			"node d: externalRef: Deployment.apps other/web is also node c (two nodes for one object)",
			"node f: resource: ClusterRole.rbac.authorization.k8s.io web is also node e (two nodes for one object)",
			"node h: resource: Thing.example.com team/web is also node g (two nodes for one object)",
		}},
		{"cycles", `
nodes:
- {id: free, ` + cm + `f}}, dependencies: [c]}
- {id: c, ` + cm + `c}}, dependencies: [a]}
- {id: b, ` + cm + `b}}, dependencies: [c]}
- {id: a, ` + cm + `a}}, dependencies: [b]}
- {id: x, ` + cm + `x}}, dependencies: [v]}
- {id: v, ` + cm + `v}}, dependencies: [x, z]}
- {id: z, ` + cm + `z}}, dependencies: [v]}`, []string{
			"node c: dependencies[0]: cycle: c → a → b → c",
			"node x: dependencies[0]: cycle: x → v → x",
			"node v: dependencies[1]: cycle: v → z → v",
		}},
		{"metadata of the API server and of Pequod", `
nodes:
- {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: x, resourceVersion: "1", generation: 1, selfLink: x, managedFields: [], deletionTimestamp: x, creationTimestamp: x}}}
- {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: null, labels: {pequod.io/inventory: "true", pequod.io/paused: "true", pequod.io/graph: g, pequod.io/graph-namespace: ns, pequod.io/managed: "true"}}}}
- {id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [example.com/x, pequod.io/applier], labels: {pequod.io/transform: x, pequod.io/instance: x, pequod.io/cue-module: x, apps.pequod.io/x: v, pequod.io/aggregate-to-applier: "true"},
    annotations: {pequod.io/claimed-by: ns/x, pequod.io/inventory-write: x, pequod.io/reconcile-requested-at: x, pequod.io/transform: x, pequod.io/new: x, example.com/x: v}}}}
- {id: role, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, labels: {pequod.io/aggregate-to-applier: "true", pequod.io/aggregate-to-manager: "true", pequod.io/managed: "true"}}}}
- {id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.example.com, labels: {pequod.io/managed: "true", pequod.io/transform: a}}}}
- {id: crd2, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: b.example.com, labels: {pequod.io/managed: "false"}}}}`, []string{
			"node a: resource.metadata.deletionTimestamp: is set by the API server (leave it out)",
			"node a: resource.metadata.generation: is set by the API server (leave it out)",
			"node a: resource.metadata.managedFields: is set by the API server (leave it out)",
			"node a: resource.metadata.resourceVersion: is set by the API server (leave it out)",
			"node a: resource.metadata.selfLink: is set by the API server (leave it out)",
			"node a: resource.metadata.uid: is set by the API server (leave it out)",
			`node b: resource.metadata.labels["pequod.io/graph"]: is set by Pequod or in the cluster (leave it out)`,
			`node b: resource.metadata.labels["pequod.io/graph-namespace"]: is set by Pequod or in the cluster (leave it out)`,
			`node b: resource.metadata.labels["pequod.io/inventory"]: is set by Pequod or in the cluster (leave it out)`,
			`node b: resource.metadata.labels["pequod.io/managed"]: is set by Pequod or in the cluster (leave it out)`,
			`node b: resource.metadata.labels["pequod.io/paused"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.annotations["pequod.io/claimed-by"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.annotations["pequod.io/inventory-write"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.annotations["pequod.io/new"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.annotations["pequod.io/reconcile-requested-at"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.annotations["pequod.io/transform"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.finalizers["pequod.io/applier"]: is set by Pequod or in the cluster (leave it out)`,
			`node c: resource.metadata.labels["pequod.io/aggregate-to-applier"]: is set by Pequod or in the cluster (leave it out)`,
			`node role: resource.metadata.labels["pequod.io/managed"]: is set by Pequod or in the cluster (leave it out)`,
			`node crd2: resource.metadata.labels["pequod.io/managed"]: is set by Pequod or in the cluster (leave it out)`,
		}},
		{"cycle through implied edges", `
nodes:
- {id: ns, resource: {apiVersion: v1, kind: Namespace, metadata: {name: own}}, dependencies: [cr]}
- {id: cr, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: own}}, dependencies: []}
- id: crd
  resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {kind: Thing}, scope: Namespaced}}
  dependencies: [cr]`, []string{
			"node ns: dependencies[0]: cycle: ns → cr → ns (cr lies in the Namespace of ns)",
			"node cr: cycle: cr → crd → cr (cr is defined by crd)",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rg := parse(t, test.graph)
			var got []string
			for _, p := range Check(rg) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckReadsObjects checks resources that are given as runtime objects, and
// resources that are not JSON.
func TestCheckReadsObjects(t *testing.T) {
	rg := parse(t, "nodes: [{id: a}, {id: b}]")
	rg.Spec.Graph.Nodes[0].Resource = &runtime.RawExtension{Object: &runtime.Unknown{Raw: []byte(`{"apiVersion":"v1","kind":"Pod"}`)}}
	rg.Spec.Graph.Nodes[1].Resource = &runtime.RawExtension{Raw: []byte(`{"apiVersion":`)}
	var got []string
	for _, p := range Check(rg) {
		got = append(got, p.String())
	}
	want := []string{"node a: resource: has no metadata.name", "node b: resource: is not JSON: unexpected end of JSON input"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckPolicies(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		want       []string
	}{
		{"sound", "{deletionPolicy: Orphan, driftPolicy: Report, adopt: {mode: LabelSelector, strategy: Mirror, labelSelector: {matchLabels: {a: b}}}}", nil},
		{"defaults", "{adopt: {resources: [{apiVersion: v1, kind: Secret, name: a}]}}", nil},
		{"unknown values", "{deletionPolicy: delete, driftPolicy: Ignore, adopt: {mode: explicit, strategy: Take}}", []string{
			`spec.deletionPolicy: unknown policy "delete" (one of Delete, Orphan)`,
			`spec.driftPolicy: unknown policy "Ignore" (one of Correct, Report)`,
			`spec.adopt.mode: unknown mode "explicit" (one of Explicit, LabelSelector)`,
			`spec.adopt.strategy: unknown strategy "Take" (one of TakeOwnership, Mirror)`,
		}},
		{"account", "{serviceAccountName: ../x}", []string{`spec.serviceAccountName: "../x" is not the name of a service account`}},
		{"another cluster", "{kubeConfig: {secretRef: {name: prod, key: kubeconfig.yaml}}}", nil},
		{"another cluster, without a Secret", "{kubeConfig: {secretRef: {}}}", []string{"spec.kubeConfig.secretRef.name: is missing"}},
		{"another cluster, by paths", "{kubeConfig: {secretRef: {name: ../prod, key: a/b}}}", []string{
			`spec.kubeConfig.secretRef.name: "../prod" is not the name of a Secret`, `spec.kubeConfig.secretRef.key: "a/b" is not a key of a Secret`,
		}},
		{"objects", "{adopt: {resources: [{}, {apiVersion: a/b/c, kind: K, name: n}]}}", []string{
			"spec.adopt.resources[0].apiVersion: is missing", "spec.adopt.resources[0].kind: is missing", "spec.adopt.resources[0].name: is missing",
			`spec.adopt.resources[1].apiVersion: "a/b/c" is not an apiVersion (such as v1 or apps/v1)`,
		}},
		{"selector in mode Explicit", "{adopt: {labelSelector: {matchLabels: {a: b}}}}", []string{"spec.adopt.labelSelector: is only for mode LabelSelector"}},
		{"missing selector", "{adopt: {mode: LabelSelector}}", []string{"spec.adopt.labelSelector: is missing (mode LabelSelector takes the objects that it selects)"}},
		{"selector of everything", "{adopt: {mode: LabelSelector, labelSelector: {}}}", []string{"spec.adopt.labelSelector: selects everything (name labels that the objects have)"}},
		{"invalid selector", "{adopt: {mode: LabelSelector, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}}", []string{
			`spec.adopt.labelSelector: "Is" is not a valid label selector operator`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rg := parse(t, sound)
			if err := yaml.UnmarshalStrict([]byte(test.spec), &rg.Spec); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range Check(rg) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckNameOfGraph checks that the name of a graph must be a label as it is.
func TestCheckNameOfGraph(t *testing.T) {
	rg := parse(t, sound)
	for length, want := range map[int]string{
		63: "",
		64: `metadata.name: "` + strings.Repeat("x", 64) + `" has more than 63 characters (it is a label of the objects)`,
	} {
		rg.Name = strings.Repeat("x", length)
		got := ""
		for _, p := range Check(rg) {
			got += p.String()
		}
		if got != want {
			t.Errorf("%d characters: %q; want %q", length, got, want)
		}
	}
}

// TestCheckNames checks that names that could change the path of a request are
// rejected.
func TestCheckNames(t *testing.T) {
	rg := parse(t, `
nodes:
- {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ../secrets/x}}}
- {id: b, resource: {apiVersion: v1, kind: Config/Map, metadata: {name: b, namespace: a/b}}}
- {id: c, externalRef: {apiVersion: ../v1, kind: ConfigMap, name: ..}}
- {id: d, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:node"}}}
- {id: e, resource: {apiVersion: apps/v1.., kind: Deployment, metadata: {name: "100%"}}}
`)
	var got []string
	for _, p := range Check(rg) {
		path, _, _ := strings.Cut(p.String(), ": \"")
		got = append(got, path)
	}
	want := []string{
		"node a: resource.metadata.name", "node b: resource.kind", "node b: resource.metadata.namespace",
		"node c: externalRef.apiVersion", "node c: externalRef.name", "node e: resource.apiVersion", "node e: resource.metadata.name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
