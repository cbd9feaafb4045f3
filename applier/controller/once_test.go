package controller_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// A Job that its TTL removes doesn't run again, also if the applier is started again or a
// reconciliation is requested. Its node stays ready, and so does the graph.
func TestJobRunsOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	// readyWhen doesn't wait for the Job, so it completes after the graph.
	job := `{id: job, readyWhen: [{type: %s}], resource: {apiVersion: batch/v1, kind: Job, metadata: {name: job},
		spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}`
	for _, ready := range []string{"JobComplete", "Exists"} {
		b.apply(b.rendered("web", nodes(fmt.Sprintf(job, ready), configMap("after", "after", "1", "job"))))
		removed := func(rg *v1alpha1.ResourceGraph) error {
			if s := rg.Status.NodeStates["job"]; s.Phase != v1alpha1.NodeReady || s.Message != "done (removed after its TTL)" {
				return fmt.Errorf("%s %s", s.Phase, s.Message)
			}
			return condition("Ready", "True", "Completed", "job: done (removed after its TTL)")(rg)
		}
		b.until("web", removed)
		b.stop()
		b.start(b.Config)
		b.merge("web", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"`+ready+`"}}}`)
		b.until("web", func(rg *v1alpha1.ResourceGraph) error {
			if rg.Status.ReconcileRequestedAt != ready {
				return errNotYet
			}
			return removed(rg)
		})
		b.eventually("the garbage collector has removed the Job", func(ctx ctx) bool { return !b.exists(ctx, "batch/v1", "Job", "job") })
		b.remove("web")
		b.gone("web")
	}
	pods, err := b.Client.CoreV1().Pods(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%v, and these Pods are left: %v", err, pods.Items)
	}
}
