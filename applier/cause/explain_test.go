package cause

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/readiness"
)

func objects(t *testing.T, text string) []unstructured.Unstructured {
	t.Helper()
	var list []unstructured.Unstructured
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

// created is when the Pods of the tests were created.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pod returns the manifest of a Pod of the Deployment web with a status.
func pod(name, status string) string {
	return `
apiVersion: v1
kind: Pod
metadata:
  name: web-7f-` + name + `
  uid: uid-` + name + `
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {pod-template-hash: 7f}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7f, uid: rs, controller: true}]
spec:
  initContainers: [{name: setup, image: "setup:1"}]
  containers:
  - name: app
    image: example.com/web:missing
    resources: {limits: {memory: 128Mi}}
    readinessProbe: {httpGet: {port: 80}}
status: ` + status + "\n---\n"
}

func waiting(reason, message string) string {
	return `{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ` + reason + `, message: '` + message + `'}}}]}`
}

func event(uid, kind, reason, at, message string) string {
	return `
apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {uid: ` + uid + `}
type: ` + kind + `
reason: ` + reason + `
lastTimestamp: "2026-01-01T00:00:` + at + `Z"
message: '` + message + "'\n---\n"
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: web}
spec: {selector: {matchLabels: {app: web}}}
status: {conditions: [{type: ReplicaFailure, status: "%", reason: FailedCreate, message: 'pods "web-7f-" is forbidden: exceeded quota: q'}]}
`

func TestExplain(t *testing.T) {
	const long = "pod web-7f-a: image example.com/web:missing can't be pulled: "
	var (
		deployment = strings.Replace(web, "%", "False", 1)
		refused    = strings.Replace(web, "%", "True", 1)
		crashing   = `{phase: Running, containerStatuses: [{name: app, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s}}, lastState: {terminated: {exitCode: 3, reason: Error, message: my password is hunter2}}}]}`
		killed     = `{phase: Running, containerStatuses: [{name: app, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`
		running    = `{phase: Running, containerStatuses: [{name: app, state: {running: {}}}], conditions: [{type: Ready, status: "False"}]}`
		healthy    = `{phase: Running, containerStatuses: [{name: app, ready: true, state: {running: {}}}], conditions: [{type: Ready, status: "True"}]}`
		homeless   = `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: no."}]}`
		missing    = waiting("ImagePullBackOff", `Back-off pulling image "example.com/web:missing"`)
	)
	for _, test := range []struct {
		name, object, pods, events string
		revision                   revision
		want, wantedEvents         string
		state                      readiness.State
	}{
		{name: "image", object: deployment, pods: pod("a", waiting("ErrImagePull", `rpc error: not found`)),
			want: "pod web-7f-a: image example.com/web:missing can't be pulled: rpc error: not found"},
		{name: "image of several", object: deployment, pods: pod("a", missing) + pod("b", missing) + pod("c", missing) + pod("d", running), wantedEvents: "uid-a",
			want: "pod web-7f-a: image example.com/web:missing can't be pulled; 3 pods alike"},
		{name: "image with its Event", object: deployment, pods: pod("a", missing),
			events: event("uid-a", "Warning", "Failed", "03", "Error: ImagePullBackOff") + event("uid-a", "Warning", "Failed", "02", `Failed to pull image "example.com/web:missing": not found`) +
				event("uid-a", "Warning", "Other", "04", "noise") + event("other", "Warning", "Failed", "04", "of another"),
			want: "pod web-7f-a: image example.com/web:missing can't be pulled: not found"},
		{name: "image with the reason in it", object: deployment, pods: pod("a", waiting("ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: no such host`)),
			want: "pod web-7f-a: image example.com/web:missing can't be pulled: no such host"},
		{name: "image name", object: deployment, pods: pod("a", waiting("InvalidImageName", "")),
			want: "pod web-7f-a: image example.com/web:missing can't be pulled: InvalidImageName"},
		{name: "crash loop", object: deployment, pods: pod("a", running) + pod("b", crashing),
			want: "pod web-7f-b: container app is in a crash loop: it exited with 3"},
		{name: "crash loop, running for a while", object: deployment, pods: pod("b", `{phase: Running, containerStatuses: [{name: app, restartCount: 4, state: {running: {}}, lastState: {terminated: {exitCode: 3, reason: Error}}}]}`),
			want: "pod web-7f-b: container app was started again: it exited with 3"},
		{name: "out of memory", object: deployment, pods: pod("a", killed) + pod("b", killed),
			want: "pod web-7f-a: container app is in a crash loop: it was killed for want of memory (OOMKilled, limit 128Mi); 2 pods alike"},
		{name: "init container", object: deployment, pods: pod("a", `{phase: Pending, initContainerStatuses: [{name: setup, state: {terminated: {exitCode: 1, reason: Error}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`),
			want: "pod web-7f-a: init container setup exited with 1"},
		{name: "configuration", object: deployment, pods: pod("a", waiting("CreateContainerConfigError", `secret "creds" not found`)),
			want: `pod web-7f-a: container app can't be started: CreateContainerConfigError: secret "creds" not found`},
		{name: "hook", object: deployment, pods: pod("a", waiting("PostStartHookError", `exited with 1: hunter2`)),
			want: `pod web-7f-a: container app can't be started: PostStartHookError`},
		{name: "unschedulable", object: deployment, pods: pod("a", homeless),
			want: "pod web-7f-a: can't be scheduled: 0/2 nodes are available: 2 Insufficient cpu."},
		{name: "scheduling gate", object: deployment, pods: pod("a", `{conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: by x}]}`),
			want: "pod web-7f-a: isn't scheduled: SchedulingGated: by x"},
		{name: "readiness gate", object: deployment, pods: strings.Replace(pod("a", `{phase: Running, containerStatuses: [{name: app, ready: true, state: {running: {}}}], conditions: [{type: Ready, status: "False"}]}`), "spec:", "spec:\n  readinessGates: [{conditionType: x.io/lb}]", 1),
			want: "pod web-7f-a: waits for its readiness gate x.io/lb"},
		{name: "not ready", object: deployment, pods: pod("a", running) + pod("b", healthy), wantedEvents: "uid-a",
			want: "pod web-7f-a: container app runs, but isn't ready"},
		{name: "not ready with its Event", object: deployment, pods: pod("a", running), events: event("uid-a", "Warning", "Unhealthy", "01", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
			want: "pod web-7f-a: container app runs, but isn't ready: Readiness probe failed: HTTP probe failed with statuscode: 503"},
		{name: "output of an exec probe", object: deployment, pods: strings.Replace(pod("a", running), "httpGet: {port: 80}", "exec: {command: [check]}", 1),
			events: event("uid-a", "Warning", "Unhealthy", "01", "Readiness probe failed: my password is hunter2"),
			want:   "pod web-7f-a: container app runs, but isn't ready: Readiness probe failed"},
		{name: "being created", object: deployment, pods: pod("a", waiting("ContainerCreating", "")), events: event("uid-a", "Warning", "FailedMount", "01", `MountVolume.SetUp failed: configmap "c" not found`),
			want: `pod web-7f-a: container app is being created: MountVolume.SetUp failed: configmap "c" not found`},
		{name: "evicted", object: deployment, pods: pod("a", `{phase: Failed, reason: Evicted, message: low on memory}`),
			want: "pod web-7f-a: failed: Evicted: low on memory"},
		{name: "all ready", object: deployment, pods: pod("a", healthy), wantedEvents: "web"},
		{name: "quota", object: refused, pods: pod("a", healthy), want: `pods can't be created: pods "web-7f-" is forbidden: exceeded quota: q`},
		{name: "quota and Pods that are starting", object: refused, pods: pod("a", running), want: `pods can't be created: pods "web-7f-" is forbidden: exceeded quota: q`},
		{name: "quota and crashing Pods", object: refused, pods: pod("a", crashing), want: "pod web-7f-a: container app is in a crash loop: it exited with 3"},
		{name: "Pods of an older revision", object: deployment,
			pods: strings.NewReplacer("7f", "3c", "2026", "2025").Replace(pod("old", missing)) + pod("a", running), wantedEvents: "uid-a",
			want: "pod web-7f-a: container app runs, but isn't ready"},
		{name: "Pods of an older revision with the same creation time", object: deployment, revision: revision{labelTemplateHash, "7f"},
			pods: strings.ReplaceAll(pod("old", missing), "7f", "3c") + pod("a", running), wantedEvents: "uid-a",
			want: "pod web-7f-a: container app runs, but isn't ready"},
		{name: "Pods of an older revision only", object: deployment, revision: revision{labelTemplateHash, "9d"}, pods: pod("a", missing), wantedEvents: "web"},
		{name: "stateful set, the new Pods", object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: rs}}", revision: revision{labelTemplateHash, "7f"},
			pods: strings.Replace(pod("old", missing), "pod-template-hash: 7f", "pod-template-hash: 3c", 1) + pod("a", crashing),
			want: "pod web-7f-a: container app is in a crash loop: it exited with 3"},
		{name: "stateful set, an old Pod", object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: rs}}", revision: revision{labelTemplateHash, "7f"},
			pods: strings.Replace(pod("old", crashing), "pod-template-hash: 7f", "pod-template-hash: 3c", 1) + pod("a", healthy),
			want: "pod web-7f-old: container app is in a crash loop: it exited with 3"},
		{name: "Pods that are being deleted", object: deployment, pods: strings.Replace(pod("a", missing), "uid:", "deletionTimestamp: \"2026-01-01T00:00:00Z\"\n  uid:", 1), wantedEvents: "web"},
		{name: "Pods of another Deployment", object: deployment, pods: strings.Replace(pod("a", missing), "name: web-7f, uid", "name: web-api-7f, uid", 1), wantedEvents: "web"},
		{name: "paused", object: strings.Replace(deployment, "spec: {", "spec: {paused: true, ", 1), pods: pod("a", running), want: "is paused"},
		{name: "long, of several", object: deployment, pods: pod("a", waiting("ErrImagePull", strings.Repeat("x", 400))) + pod("b", waiting("ErrImagePull", strings.Repeat("x", 400))),
			want: long + strings.Repeat("x", 300-len(long)-len("…; 2 pods alike")) + "…; 2 pods alike"},
		{name: "control characters", object: deployment, pods: pod("a", `{phase: Failed, reason: Evicted, message: "a\n\n b\u001b[31m"}`),
			want: "pod web-7f-a: failed: Evicted: a b?[31m"},

		{name: "stateful set without Pods", object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: db}}",
			events: event("db", "Warning", "FailedCreate", "01", "older") + event("db", "Warning", "FailedCreate", "03", `(combined from similar events): create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: violates PodSecurity "restricted"`) + event("db", "Normal", "SuccessfulCreate", "04", "x"),
			want:   `pods can't be created: pods "db-0" is forbidden: violates PodSecurity "restricted"`},
		{name: "pod", object: strings.TrimSuffix(pod("a", crashing), "\n---\n"), want: "container app is in a crash loop: it exited with 3"},
		{name: "ready pod", object: strings.TrimSuffix(pod("a", healthy), "\n---\n")},
		{name: "claim", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}",
			events: event("c", "Normal", "WaitForFirstConsumer", "01", "waiting for first consumer to be created before binding"),
			want:   readiness.FirstConsumer, state: readiness.Ready},
		{name: "claim of a Pod that isn't scheduled", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}",
			events: event("c", "Warning", "ProvisioningFailed", "02", "no capacity") + event("c", "Normal", "WaitForPodScheduled", "01", "waiting for pod web to be scheduled"),
			want:   readiness.FirstConsumer, state: readiness.Ready},
		{name: "claim, Event of another", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}",
			events: event("d", "Normal", "WaitForFirstConsumer", "01", "waiting for first consumer to be created before binding")},
		{name: "claim without Events", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}", wantedEvents: "c"},
		{name: "claim without a volume", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}",
			events: event("c", "Normal", "FailedBinding", "01", "no persistent volumes available for this claim and no storage class is set"),
			want:   "FailedBinding: no persistent volumes available for this claim and no storage class is set"},
		{name: "lost claim", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Lost}}",
			events: event("c", "Normal", "WaitForFirstConsumer", "01", "waits") + event("c", "Warning", "ClaimLost", "02", "its volume is gone"),
			want:   "ClaimLost: its volume is gone"},
		{name: "claim that fails", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Pending}}",
			events: event("c", "Normal", "ExternalProvisioning", "03", "waits") + event("c", "Warning", "ProvisioningFailed", "01", `storageclass "x" not found`),
			want:   `ProvisioningFailed: storageclass "x" not found`},
		{name: "bound claim", object: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c}, status: {phase: Bound}}"},
		{name: "service", object: "{apiVersion: v1, kind: Service, metadata: {name: s, uid: s}, spec: {type: LoadBalancer}}",
			events: event("s", "Warning", "SyncLoadBalancerFailed", "01", "no quota for addresses"),
			want:   "SyncLoadBalancerFailed: no quota for addresses"},
		{name: "custom resource", object: "{apiVersion: x.io/v1, kind: Thing, metadata: {name: s, uid: s}}", wantedEvents: "s"},
		{name: "finalizers", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: s, uid: s, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [x.io/a, b]}}",
			want: "is being deleted, held by finalizer x.io/a, b"},
		{name: "namespace", object: `{apiVersion: v1, kind: Namespace, metadata: {name: s, deletionTimestamp: '2026-01-01T00:00:00Z'}, status: {conditions: [
			{type: NamespaceDeletionContentFailure, status: "False", message: all fine},
			{type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: pods. has 1 resource instances"},
			{type: NamespaceFinalizersRemaining, status: "True", message: "Some content in the namespace has finalizers remaining: x.io/a in 1 resource instances"}]}}`,
			want: "is being deleted: Some content in the namespace has finalizers remaining: x.io/a in 1 resource instances; Some resources are remaining: pods. has 1 resource instances"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, wanted := explain(&objects(t, test.object)[0], test.revision, objects(t, test.pods), objects(t, test.events), created)
			got := found.Message
			if got != test.want || found.State != test.state {
				t.Errorf("got  %q %q\nwant %q %q", found.State, got, test.state, test.want)
			}
			if len(test.events) == 0 && string(wanted) != test.wantedEvents {
				t.Errorf("wants Events of %q, want %q", wanted, test.wantedEvents)
			}
			if len(got) > 300 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

// A workload is degraded if one of its Pods is old enough and fails in a way that rarely
// passes without a change.
func TestDegraded(t *testing.T) {
	const (
		running  = `{phase: Running, containerStatuses: [{name: app, state: {running: {}}}], conditions: [{type: Ready, status: "False"}]}`
		once     = `{phase: Running, containerStatuses: [{name: app, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 3}}}]}`
		again    = `{phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 3}}}]}`
		homeless = `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no node}]}`
		evicted  = `{phase: Failed, reason: Evicted, message: low on memory}`
	)
	old := func(pod string) string {
		return strings.Replace(pod, "2026-01-01T00:00:00Z", "2025-12-31T23:59:00Z", 1)
	}
	deployment := strings.Replace(web, "%", "False", 1)
	for name, test := range map[string]struct {
		object, pods string
		want         readiness.State
	}{
		"image":               {deployment, old(pod("a", waiting("ImagePullBackOff", "x"))), readiness.Degraded},
		"image of a new Pod":  {deployment, pod("a", waiting("ImagePullBackOff", "x")), ""},
		"image, first try":    {deployment, old(pod("a", waiting("ErrImagePull", "x"))), readiness.Degraded},
		"configuration":       {deployment, old(pod("a", waiting("CreateContainerConfigError", "x"))), readiness.Degraded},
		"crash loop":          {deployment, old(pod("a", waiting("CrashLoopBackOff", "x"))), readiness.Degraded},
		"between two crashes": {deployment, old(pod("a", again)), readiness.Degraded},
		"one crash":           {deployment, old(pod("a", once)), ""},
		"not ready":           {deployment, old(pod("a", running)), ""},
		"unschedulable":       {deployment, old(pod("a", homeless)), ""},
		"evicted":             {deployment, old(pod("a", evicted)), ""},
		"being created":       {deployment, old(pod("a", waiting("ContainerCreating", ""))), ""},
		"the second is old":   {deployment, pod("a", waiting("CrashLoopBackOff", "x")) + old(pod("b", waiting("CrashLoopBackOff", "x"))), readiness.Degraded},
		"the old one is fine": {deployment, pod("a", waiting("CrashLoopBackOff", "x")) + old(pod("b", running)), ""},
		"no Pods":             {deployment, "", ""},
		"pod":                 {strings.TrimSuffix(old(pod("a", waiting("ErrImagePull", "x"))), "\n---\n"), "", readiness.Degraded},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := explain(&objects(t, test.object)[0], revision{}, objects(t, test.pods), nil, created.Add(29*time.Second))
			if found.State != test.want {
				t.Errorf("got %q, want %q: %s", found.State, test.want, found.Message)
			}
		})
	}
}
