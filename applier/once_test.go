package applier_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Job that its TTL removes doesn't run again when the unchanged graph is applied, and a plan
// has nothing to do. A changed Job runs, and so does one that was deleted before it completed.
func TestJobRunsOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := `
nodes:
- id: job
  resource:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
  readyWhen: [{type: JobComplete}]
- {id: after, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}}, dependencies: [job]}
`
	removed := func() {
		t.Helper()
		b.eventually("the Job is removed", func(context.Context) bool { return !b.exists("batch/v1", "Job", "job") })
	}
	b.wantOps(b.complete(b.graph("g", graph)), "job created, after created")
	removed()
	result := b.complete(b.graph("g", graph))
	b.wantOps(result, "job unchanged, after unchanged")
	if got := status(result, "job").Message; got != "done (removed after its TTL)" {
		t.Errorf("the message is %q", got)
	}
	b.wantExists("batch/v1", "Job", false, "job")

	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, "image: c", "image: d", 1))), "job created, after unchanged")
	removed()

	slow := strings.NewReplacer("ttlSecondsAfterFinished: 1", "ttlSecondsAfterFinished: 600",
		"template: {", `template: {metadata: {annotations: {testcluster.pequod.io/exit-after: 3s, testcluster.pequod.io/exit-code: "0"}}, `)
	deleted := make(chan types.UID, 1)
	go func() {
		b.eventually("the Job runs", func(context.Context) bool { return b.exists("batch/v1", "Job", "job") })
		deleted <- b.Get(t, "batch/v1", "Job", "job").GetUID()
		background := metav1.DeletePropagationBackground
		_ = b.Client.BatchV1().Jobs(b.Namespace).Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: &background})
	}()
	b.complete(b.graph("g", slow.Replace(graph)))
	if uid := b.Get(t, "batch/v1", "Job", "job").GetUID(); uid == <-deleted {
		t.Error("the Job wasn't deleted while it ran")
	}
}

// An object with mode Create that others delete isn't created again, but a Secret with
// generated values is.
func TestCreatedOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := b.graph("g", `
nodes:
- {id: once, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: once}, data: {a: b}}, applyPolicy: {mode: Create}}
- {id: secret, resource: {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {k: {$generate: {length: 8}}}}, applyPolicy: {mode: Create}}
`)
	b.complete(graph)
	if err := b.Client.CoreV1().ConfigMaps(b.Namespace).Delete(t.Context(), "once", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Client.CoreV1().Secrets(b.Namespace).Delete(t.Context(), "secret", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.wantOps(b.complete(graph), "once unchanged, secret created")
	b.wantExists("v1", "ConfigMap", false, "once")
}
