package readiness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// compile returns the checker of a node with these checks.
func compile(t testing.TB, readyWhen string) *Checker {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	text := "nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, readyWhen: " + readyWhen + "}]"
	if err := yaml.UnmarshalStrict([]byte(text), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	read := graph.Read(rg)
	for _, p := range read.Problems() {
		t.Fatal(p)
	}
	g, err := Compile(&read.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// live decodes an object as a response of the API server is decoded.
func live(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return &u
}

const (
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 3, progressDeadlineSeconds: 600}, status: "
	job        = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, generation: 1}, spec: {completions: 3, parallelism: 2}, status: "
	suspended  = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, generation: 1}, spec: {suspend: true}, status: "
	service    = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: "
	custom     = "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, generation: 2}, status: "
	crd        = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, generation: 1}, status: "
	available  = "{type: Available, status: 'True', reason: MinimumReplicasAvailable}"
	rolledOut  = "{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}"
	exceeded   = "{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: ReplicaSet a has timed out progressing.}"
)

// daemonSet returns the begin of a DaemonSet of generation 2, without its status.
func daemonSet(strategy string) string {
	return "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 2}, spec: {updateStrategy: {type: " + strategy + "}}, status: "
}

// statefulSet returns the begin of a StatefulSet with two replicas, without its status.
func statefulSet(strategy string) string {
	return "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 2, updateStrategy: {type: " + strategy + "}}, status: "
}

type evaluation struct {
	name, readyWhen, object string
	want                    Verdict
}

func evaluate(t *testing.T, tests []evaluation) {
	t.Helper()
	ready := Verdict{State: Ready}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := live(t, test.object)
			before := u.DeepCopy()
			want := test.want
			if want.State == "" {
				want = ready
			}
			if diff := cmp.Diff(want, compile(t, test.readyWhen).Evaluate(u)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, u); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
		})
	}
}

func TestEvaluateKstatus(t *testing.T) {
	evaluate(t, []evaluation{
		{"config map", "[]", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", Verdict{}},
		{"service account", "[]", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}", Verdict{}},
		{"custom resource without status", "[]", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, generation: 1}}", Verdict{}},
		{"custom resource", "[]", custom + "{observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}", Verdict{}},
		{"custom resource not ready", "[]", custom + "{conditions: [{type: Ready, status: 'False', reason: NotYet, message: \"a\\nb\"}]}}",
			Verdict{Progressing, "condition Ready is False: NotYet: a b"}},
		{"custom resource reconciling", "[]", custom + "{conditions: [{type: Reconciling, status: 'True', reason: Busy, message: working}]}}",
			Verdict{Progressing, "condition Reconciling is True: Busy: working"}},
		{"custom resource, Ready of an older generation", "[]", custom + "{conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Ready is of an older generation"}},
		{"custom resource, not Ready in an older generation", "[]", custom + "{observedGeneration: 2, conditions: [{type: Ready, status: 'False', reason: Old, observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Ready is of an older generation"}},
		{"custom resource, Ready of this generation", "[]", custom + "{conditions: [{type: Ready, status: 'True', observedGeneration: 2}, {type: Synced, status: 'True', observedGeneration: 1}]}}", Verdict{}},
		{"custom resource, Ready without a number as generation", "[]", custom + "{conditions: [{type: Ready, status: 'True', observedGeneration: '1'}]}}", Verdict{}},
		{"custom resource stalled in an older generation", "[]", custom + "{conditions: [{type: Stalled, status: 'True', reason: Broken, observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Stalled is of an older generation"}},
		{"custom resource that is stalled no longer", "[]", custom + "{conditions: [{type: Stalled, status: 'False', observedGeneration: 1}, {type: Ready, status: 'True', observedGeneration: 2}]}}", Verdict{}},
		{"custom resource stalled, Ready of an older generation", "[]", custom + "{conditions: [{type: Ready, status: 'True', observedGeneration: 1}, {type: Stalled, status: 'True', reason: Broken, message: gave up, observedGeneration: 2}]}}",
			Verdict{Failed, "condition Stalled is True: Broken: gave up"}},
		{"pod, Ready of an older generation", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a, generation: 2}, status: {phase: Running, conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Ready is of an older generation"}},
		{"custom resource stalled", "[]", custom + "{conditions: [{type: Stalled, status: 'True', reason: Broken, message: gave up}]}}",
			Verdict{Failed, "condition Stalled is True: Broken: gave up"}},
		{"stale status", "[]", custom + "{observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}}",
			Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"conditions of the wrong type", "[]", custom + "{conditions: none}}",
			Verdict{Failed, "its status can't be read (cannot restore slice from string); a check in readyWhen can say when it is ready"}},
		{"being deleted", "[]", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}}",
			Verdict{Progressing, "is being deleted"}},
		{"held by a finalizer", "[]", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [x.io/a]}}",
			Verdict{Progressing, "is being deleted, held by finalizer x.io/a"}},
		{"held by two finalizers", "[]", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [x.io/a, b]}}",
			Verdict{Progressing, "is being deleted, held by finalizer x.io/a, b"}},

		{"deployment", "[]", deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [" + available + "," + rolledOut + "]}}", Verdict{}},
		{"new deployment", "[]", deployment + "{}}", Verdict{Progressing, "the Deployment controller hasn't seen it yet"}},
		{"stale deployment", "[]", deployment + "{observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [" + available + "," + rolledOut + "]}}",
			Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"deployment becoming available", "[]", deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 1, availableReplicas: 1}}",
			Verdict{Progressing, "1 of 3 replicas available"}},
		{"deployment updating", "[]", deployment + "{observedGeneration: 2, replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3}}",
			Verdict{Progressing, "1 of 3 replicas updated"}},
		{"deployment with old Pods", "[]", deployment + "{observedGeneration: 2, replicas: 4, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}}",
			Verdict{Progressing, "1 replica too many"}},
		{"deployment exceeded", "[]", deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, conditions: [" + exceeded + "]}}",
			Verdict{Failed, "its progress deadline is exceeded: 0 of 3 replicas available"}},

		{"stateful set", "[]", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 2}, status: {replicas: 2, readyReplicas: 1}}",
			Verdict{Progressing, "1 of 2 replicas ready"}},
		{"daemon set", "[]", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 1}}",
			Verdict{Progressing, "1 of 2 replicas scheduled"}},
		{"new daemon set", "[]", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}}",
			Verdict{Progressing, "its controller hasn't seen it yet"}},
		{"replica set that can't create Pods", "[]", "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, status: {conditions: [{type: ReplicaFailure, status: 'True'}]}}",
			Verdict{Progressing, "pods can't be created"}},
		{"daemon set with old Pods", "[]", daemonSet("RollingUpdate") + "{observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}",
			Verdict{Progressing, "0 of 2 replicas updated"}},
		{"OnDelete daemon set with old Pods", "[]", daemonSet("OnDelete") + "{observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}", Verdict{}},
		{"OnDelete daemon set with an unready Pod", "[]", daemonSet("OnDelete") + "{observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}}",
			Verdict{Progressing, "1 of 2 replicas available"}},
		{"OnDelete daemon set without nodes", "[]", daemonSet("OnDelete") + "{observedGeneration: 2, desiredNumberScheduled: 0}}", Verdict{}},
		{"stale OnDelete daemon set", "[]", daemonSet("OnDelete") + "{observedGeneration: 1, desiredNumberScheduled: 0}}",
			Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"new OnDelete daemon set", "[]", daemonSet("OnDelete") + "{}}", Verdict{Progressing, "its controller hasn't seen it yet"}},
		{"OnDelete daemon set without status", "[]", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {updateStrategy: {type: OnDelete}}}",
			Verdict{Progressing, "its controller hasn't seen it yet"}},
		{"OnDelete stateful set with old Pods", "[]", statefulSet("OnDelete") + "{replicas: 2, readyReplicas: 2, currentReplicas: 2, currentRevision: a, updateRevision: b}}", Verdict{}},
		{"OnDelete stateful set with some new Pods", "[]", statefulSet("OnDelete") + "{replicas: 2, readyReplicas: 2, currentReplicas: 1, updatedReplicas: 1, currentRevision: a, updateRevision: b}}", Verdict{}},
		{"OnDelete stateful set with an unready Pod", "[]", statefulSet("OnDelete") + "{replicas: 2, readyReplicas: 1, currentReplicas: 2}}",
			Verdict{Progressing, "1 of 2 replicas ready"}},
		{"new OnDelete stateful set", "[]", statefulSet("OnDelete") + "{replicas: 0}}", Verdict{Progressing, "0 of 2 replicas created"}},
		{"OnDelete stateful set that is scaled down", "[]", statefulSet("OnDelete") + "{replicas: 3, readyReplicas: 3}}", Verdict{Progressing, "1 replica too many"}},
		{"OnDelete of another group", "[]", "{apiVersion: example.com/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {updateStrategy: {type: OnDelete}}, status: {conditions: [{type: Ready, status: 'False'}]}}",
			Verdict{Progressing, "condition Ready is False"}},
		{"new job", "[]", job + "{}}", Verdict{Progressing, "hasn't started yet"}},
		{"running job", "[]", job + "{startTime: '2026-01-01T00:00:00Z', active: 2}}", Verdict{}},
		{"suspended job", "[]", suspended + "{conditions: [{type: Suspended, status: 'True', reason: JobSuspended}]}}", Verdict{}},
		{"job that is about to be suspended", "[]", suspended + "{}}", Verdict{Progressing, "hasn't started yet"}},
		{"job that is about to be resumed", "[]", job + "{conditions: [{type: Suspended, status: 'True', reason: JobSuspended}]}}",
			Verdict{Progressing, "hasn't started yet"}},
		{"failed job", "[]", job + "{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}",
			Verdict{Failed, "the Job failed: BackoffLimitExceeded: Job has reached the specified backoff limit"}},
		{"claim", "[]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}",
			Verdict{Undecided, "is Pending, not Bound"}},
		{"lost claim", "[]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {volume.kubernetes.io/selected-node: node-1}}, status: {phase: Lost}}",
			Verdict{Progressing, "is Lost, not Bound"}},
		{"new claim", "[]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}", Verdict{Progressing, "isn't bound yet"}},
		{"claim of a scheduled Pod", "[]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {volume.kubernetes.io/selected-node: node-1}}, status: {phase: Pending}}",
			Verdict{Ready, FirstConsumer}},
		{"claim with a check", "[{type: Expression, expr: object.status.phase == 'Bound'}]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {volume.kubernetes.io/selected-node: node-1}}, status: {phase: Pending}}",
			Verdict{Progressing, "object.status.phase == 'Bound' is false"}},
		{"bound claim", "[]", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Bound}}", Verdict{}},
		{"service", "[]", service + "{}}", Verdict{}},
		{"pod", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}", Verdict{}},
		{"crashing pod", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}}]}}",
			Verdict{Failed, "is crashing: container app"}},
		{"failed pod", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3, reason: Error}}}]}}",
			Verdict{Failed, "the Pod failed: Error: container app exited with 3"}},
		{"evicted pod", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, reason: Evicted, message: low on memory}}",
			Verdict{Failed, "the Pod failed: Evicted: low on memory"}},
		{"malformed pod", "[]", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, containerStatuses: [none]}}",
			Verdict{Failed, "its status can't be read (interface conversion: interface {} is string, not map[string]interface {}); a check in readyWhen can say when it is ready"}},
		{"definition", "[]", crd + "{conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}}", Verdict{}},
		{"new definition", "[]", crd + "{}}", Verdict{Progressing, "isn't established yet"}},
		{"definition being installed", "[]", crd + "{conditions: [{type: Established, status: 'False', reason: Installing, message: the initial names have been accepted}]}}",
			Verdict{Progressing, "isn't established yet: Installing: the initial names have been accepted"}},
		{"definition with names of another", "[]", crd + "{conditions: [{type: Established, status: 'True'}, {type: NamesAccepted, status: 'False', reason: PluralConflict, message: taken}]}}",
			Verdict{Failed, "its names aren't accepted: PluralConflict: taken"}},
	})
}

func TestEvaluateChecks(t *testing.T) {
	const (
		isAvailable = "[{type: DeploymentAvailable}]"
		complete    = "[{type: JobComplete}]"
		balanced    = "[{type: ServiceLoadBalancerReady}]"
		synced      = "[{type: ConditionMatch, conditionType: Synced}]"
		notBusy     = "[{type: ConditionMatch, conditionType: Busy, conditionStatus: 'False'}]"
		running     = "[{type: Expression, expr: object.status.phase == 'Running'}]"
	)
	evaluate(t, []evaluation{
		{"exists", "[{type: Exists}]", deployment + "{}}", Verdict{}},
		{"exists, stale", "[{type: Exists}]", custom + "{observedGeneration: 1}}", Verdict{}},
		{"exists, being deleted", "[{type: Exists}]", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}}",
			Verdict{Progressing, "is being deleted"}},

		{"available", isAvailable, deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 2, conditions: [" + available + "]}}", Verdict{}},
		{"not seen", isAvailable, deployment + "{}}", Verdict{Progressing, "the Deployment controller hasn't seen it yet"}},
		{"available in another generation", isAvailable, deployment + "{observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 3, conditions: [" + available + "]}}",
			Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"available by old Pods", isAvailable, deployment + "{observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 3, conditions: [" + available + "]}}",
			Verdict{Progressing, "1 of 3 replicas updated"}},
		{"old Pods still there", isAvailable, deployment + "{observedGeneration: 2, replicas: 4, updatedReplicas: 3, availableReplicas: 3, conditions: [" + available + "]}}",
			Verdict{Progressing, "1 replica of an older generation still there"}},
		{"some available", isAvailable, deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 1}}",
			Verdict{Progressing, "1 of 3 replicas available"}},
		{"not available", isAvailable, deployment + "{observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, conditions: [{type: Available, status: 'False', reason: Why}]}}",
			Verdict{Progressing, "condition Available is False: Why"}},
		{"deadline exceeded", isAvailable, deployment + "{observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 3, conditions: [" + available + "," + exceeded + "]}}",
			Verdict{Failed, "its progress deadline is exceeded: 3 of 3 replicas available"}},
		{"none wanted", isAvailable, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, conditions: [" + available + "]}}", Verdict{}},

		{"complete", complete, job + "{conditions: [{type: Complete, status: 'True'}]}}", Verdict{}},
		{"not started", complete, job + "{}}", Verdict{Progressing, "hasn't started yet"}},
		{"running", complete, job + "{startTime: x, active: 2, succeeded: 1}}", Verdict{Progressing, "1 of 3 completed, 2 running"}},
		{"running again", complete, job + "{startTime: x, active: 1, failed: 2}}", Verdict{Progressing, "0 of 3 completed, 1 running, 2 failed"}},
		{"suspended", complete, job + "{startTime: x, conditions: [{type: Suspended, status: 'True'}]}}", Verdict{Progressing, "is suspended"}},
		{"failed", complete, job + "{conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]}}", Verdict{Failed, "the Job failed: DeadlineExceeded"}},
		{"failing", complete, job + "{conditions: [{type: FailureTarget, status: 'True', reason: DeadlineExceeded}]}}", Verdict{Failed, "the Job failed: DeadlineExceeded"}},

		{"address", balanced, service + "{loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}", Verdict{}},
		{"host name", balanced, service + "{loadBalancer: {ingress: [{hostname: a.example}]}}}", Verdict{}},
		{"no address", balanced, service + "{loadBalancer: {}}}", Verdict{Progressing, "waits for the address of a load balancer"}},
		{"empty address", balanced, service + "{loadBalancer: {ingress: [{}]}}}", Verdict{Progressing, "waits for the address of a load balancer"}},
		{"not of that type", balanced, "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIP}}",
			Verdict{Failed, "is a Service of type ClusterIP, which gets no load balancer"}},
		{"ingress", balanced, "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}", Verdict{}},

		{"condition", synced, custom + "{conditions: [{type: Other, status: 'False'}, {type: Synced, status: 'True', observedGeneration: 2}]}}", Verdict{}},
		{"condition not set", synced, custom + "{}}", Verdict{Progressing, "condition Synced isn't set yet"}},
		{"no status", synced, "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}", Verdict{Progressing, "condition Synced isn't set yet"}},
		{"condition false", synced, custom + "{conditions: [{type: Synced, status: 'False', reason: NotYet, message: NotYet because}]}}",
			Verdict{Progressing, "condition Synced is False: NotYet because"}},
		{"condition unknown", synced, custom + "{conditions: [{type: Synced, status: Unknown}]}}", Verdict{Progressing, "condition Synced is Unknown"}},
		{"condition stale", synced, custom + "{conditions: [{type: Synced, status: 'True', observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Synced is of an older generation"}},
		{"status stale", synced, custom + "{observedGeneration: 1, conditions: [{type: Synced, status: 'True'}]}}",
			Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"stalled in an older generation", synced, custom + "{conditions: [{type: Synced, status: 'False'}, {type: Stalled, status: 'True', reason: Broken, observedGeneration: 1}]}}",
			Verdict{Progressing, "condition Synced is False"}},
		{"stalled", synced, custom + "{conditions: [{type: Synced, status: 'False'}, {type: Stalled, status: 'True', reason: Broken, message: gave up}]}}",
			Verdict{Failed, "condition Stalled is True: Broken: gave up"}},
		{"other status", notBusy, custom + "{conditions: [{type: Busy, status: 'False'}]}}", Verdict{}},
		{"not the other status", notBusy, custom + "{conditions: [{type: Busy, status: 'True', reason: Working}]}}",
			Verdict{Progressing, "condition Busy is True, not False"}},
		{"conditions of the wrong type", synced, custom + "{conditions: none}}", Verdict{Progressing, "condition Synced isn't set yet"}},

		{"true", running, custom + "{phase: Running}}", Verdict{}},
		{"false", running, custom + "{phase: Starting}}", Verdict{Progressing, "object.status.phase == 'Running' is false"}},
		{"missing", running, custom + "{}}", Verdict{Progressing, "waits for object.status.phase"}},
		{"true in another generation", running, custom + "{observedGeneration: 1, phase: Running}}", Verdict{Progressing, "its controller hasn't seen generation 2 yet"}},
		{"wrong type", "[{type: Expression, expr: object.status.phase > 3}]", custom + "{phase: Running}}",
			Verdict{Failed, "> doesn't take a string and a number (in object.status.phase > 3)"}},
		{"not a boolean", "[{type: Expression, expr: object.status.phase}]", custom + "{phase: Running}}",
			Verdict{Failed, "object.status.phase yields neither true nor false"}},
		{"null", "[{type: Expression, expr: object.status.up}]", custom + "{up: null}}",
			Verdict{Progressing, "waits for object.status.up, which is null"}},
		{"secret", "[{type: Expression, expr: int(object.data.a) > 1}]", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: aHVudGVyMg==}}",
			Verdict{Failed, "int(object.data.a) > 1 can't be evaluated; the cause isn't shown because it may quote the Secret"}},
		{"secret without data", "[{type: Expression, expr: object.data.a != ''}]", "{apiVersion: v1, kind: Secret, metadata: {name: a}}",
			Verdict{Progressing, "waits for what object.data.a != '' reads"}},
		{"long message", synced, custom + "{conditions: [{type: Synced, status: 'False', message: " + strings.Repeat("x", 400) + "}]}}",
			Verdict{Progressing, "condition Synced is False: " + strings.Repeat("x", 300-27-3) + "…"}},

		{"all of several", "[{type: Exists}, {type: ConditionMatch, conditionType: Synced}, {type: Expression, expr: object.status.count == 1}]",
			custom + "{count: 1, conditions: [{type: Synced, status: 'True'}]}}", Verdict{}},
		{"the first that isn't ready", "[{type: Exists}, {type: ConditionMatch, conditionType: Synced}, {type: Expression, expr: object.status.count == 1}]",
			custom + "{count: 2}}", Verdict{Progressing, "condition Synced isn't set yet"}},
		{"the one that fails", "[{type: ConditionMatch, conditionType: Synced}, {type: Expression, expr: object.status.count > 'a'}]",
			custom + "{count: 2}}", Verdict{Failed, "> doesn't take a number and a string (in object.status.count > 'a')"}},
	})
}

func TestEvaluateMissingObject(t *testing.T) {
	want := Verdict{Progressing, "doesn't exist yet"}
	for _, readyWhen := range []string{"[]", "[{type: Exists}]", "[{type: JobComplete}]"} {
		if diff := cmp.Diff(want, compile(t, readyWhen).Evaluate(nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", readyWhen, diff)
		}
	}
}

// The expressions of a node share a limit of the cost.
func TestCostOfANode(t *testing.T) {
	object := live(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '"+strings.Repeat("1,", 2500)+"'}}")
	for n, want := range map[int]State{10: Ready, 100: Failed} {
		var checks []string
		for i := range n {
			checks = append(checks, fmt.Sprintf("{type: Expression, expr: \"object.data.a.split(',').all(a, a != 'z%d')\"}", i))
		}
		verdict, cost := compile(t, "["+strings.Join(checks, ", ")+"]").Measure(object)
		if verdict.State != want || cost > MaxCost+MaxCost/10 || cost < 50_000 {
			t.Errorf("%d expressions: %v, cost %d", n, verdict, cost)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, check := range []v1alpha1.ReadyCheck{{Type: "Sometime"}, {Type: v1alpha1.ReadyExpression, Expr: "object."}} {
		rg := &v1alpha1.ResourceGraph{}
		rg.Spec.Graph.Nodes = []v1alpha1.Node{{ID: "a", ReadyWhen: []v1alpha1.ReadyCheck{check}}}
		if _, err := Compile(&graph.Read(rg).Nodes[0]); err == nil {
			t.Errorf("%v compiled", check)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	ready := live(b, deployment+"{observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: ["+available+","+rolledOut+"]}}")
	for _, bench := range []struct{ name, readyWhen string }{
		{"kstatus", "[]"},
		{"DeploymentAvailable", "[{type: DeploymentAvailable}]"},
		{"Expression", "[{type: Expression, expr: object.status.availableReplicas == object.spec.replicas}]"},
	} {
		checker := compile(b, bench.readyWhen)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := checker.Evaluate(ready); v.State != Ready {
					b.Fatal(v)
				}
			}
		})
	}
}
