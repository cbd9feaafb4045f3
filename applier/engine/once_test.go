package engine

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

// migration returns the spec of a graph with a Job that is removed after its TTL.
func migration(policy, image string) string {
	return fmt.Sprintf(`graph: {nodes: [
		{id: job, applyPolicy: {%s}, readyWhen: [{type: JobComplete}], resource: {apiVersion: batch/v1, kind: Job, metadata: {name: job},
			spec: {ttlSecondsAfterFinished: 5, image: %s}}},
		{id: after, dependencies: [job], resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}}}]}`, policy, image)
}

// completeJob returns a Job as it is when it has completed.
func completeJob(t *testing.T, uid string, version int) *unstructured.Unstructured {
	return live(t, self, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: job, uid: %s, resourceVersion: "%d"},
		spec: {ttlSecondsAfterFinished: 5}, status: {conditions: [{type: Complete, status: "True"}]}}`, uid, version))
}

// runJob executes a graph until its Job has completed and everything else is ready. It returns
// the inventory that was recorded when the Job had completed.
func runJob(b *env) *inventory.Inventory {
	b.Helper()
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.expect("Apply job")
	b.applyNext("u-job", 1)
	b.expect("")
	b.Observe(completeJob(b.T, "u-job", 2))
	b.expect("Apply after, Record") // at once, because the Job may be removed before the end of the run
	inv := b.answer(Record, Outcome{}).Inventory
	b.applyNext("u-after", 3)
	b.complete()
	return inv
}

// A Job that completed and was removed after its TTL doesn't run again: neither in this run nor
// in the next one, also if the next process knows only what was recorded. Nothing is read or
// written for it, and its node is ready. Another manifest runs.
func TestJobRunsOnce(t *testing.T) {
	for _, policy := range []string{"", "mode: Create"} {
		b := newEnv(t, migration(policy, "a"), nil, Options{})
		inv := runJob(b)
		deleting := completeJob(t, "u-job", 4)
		deleting.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		b.Observe(deleting)
		b.expect("")
		b.wantShow("job Ready: done (removed after its TTL)", "after Ready")
		b.ObserveGone(deleting)
		b.expect("")
		b.wantShow("job Ready: done (removed after its TTL)", "after Ready")

		for name, stored := range map[string]*inventory.Inventory{"recorded meanwhile": inv, "recorded at the end": b.Inventory()} {
			after := configMap(t, self, "after", "u-after", 3, "1")
			again := newEnv(t, migration(policy, "a"), stored, Options{})
			again.survey(after)
			for range 5 {
				again.step()
				for _, a := range again.todo {
					if a.Key.Name == "job" {
						t.Fatalf("%s, %q: %s of the Job", name, policy, a.Verb)
					}
				}
			}
			if got := again.Statuses()[0]; got.Message != "done (removed after its TTL)" {
				t.Errorf("%s, %q: %+v", name, policy, got)
			}
			changed := newEnv(t, migration(policy, "b"), stored, Options{})
			changed.survey(after)
			changed.step()
			changed.answer(Record, Outcome{})
			changed.expect("Apply job")
		}
	}
}

// A Job that is removed before it has completed, or that failed, runs again. If the last event
// shows that it had completed, it doesn't.
func TestJobIsDeletedBeforeItCompletes(t *testing.T) {
	running := completeJob(t, "u-job", 2)
	unstructured.RemoveNestedField(running.Object, "status")
	failed := completeJob(t, "u-job", 2)
	failed.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
	for name, test := range map[string]struct {
		last *unstructured.Unstructured
		want string
	}{
		"running":   {running, "Apply job"},
		"failed":    {failed, "Apply job"},
		"completed": {completeJob(t, "u-job", 2), "Apply after"}, // it was recorded at once
	} {
		b := newEnv(t, migration("", "a"), nil, Options{})
		b.survey()
		b.step()
		b.answer(Record, Outcome{})
		b.step()
		b.applyNext("u-job", 1)
		b.expect("")
		b.ObserveGone(test.last)
		b.step()
		b.answer(Read, Outcome{})
		if got := b.step(); got != test.want {
			t.Errorf("%s: %q; want %q", name, got, test.want)
		}
	}
}

// An object with mode Create that vanishes isn't created again, unless expressions read it or
// its values are generated.
func TestCreatedOnce(t *testing.T) {
	const secret = `graph: {nodes: [{id: a, applyPolicy: {mode: Create}, resource: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {k: {$generate: {length: 3}}}}}]}`
	const read = `graph: {nodes: [{id: a, applyPolicy: {mode: Create}, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}},
		{id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: {$from: a.data.a}}}}]}`
	for spec, want := range map[string]string{withPolicy("mode: Create"): "", secret: "Apply a", read: "Apply a", oneNode: "Apply a"} {
		stored := newEnv(t, spec, nil, Options{}).complete()
		b := newEnv(t, spec, stored, Options{})
		b.survey()
		if got := b.step(); got != want {
			t.Errorf("%s: %q; want %q: %s", spec, got, want, b.show())
		}
		if want == "" {
			b.wantShow("a Ready: done (removed after it was created)")
		}
	}
}

// A node that reads a Job which is done and removed stays as it is. If it has to change, it
// waits, and the message says for what.
func TestReadsRemovedJob(t *testing.T) {
	spec := func(value string) string {
		return fmt.Sprintf(`graph: {nodes: [
			{id: job, readyWhen: [{type: JobComplete}], resource: {apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {ttlSecondsAfterFinished: 5}}},
			{id: after, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}, data: {a: {$from: job.metadata.uid}, b: %q}}}]}`, value)
	}
	b := newEnv(t, spec("1"), nil, Options{})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	b.applyNext("u-job", 1)
	b.step()
	b.Observe(completeJob(t, "u-job", 2))
	b.step()
	after := b.applyNext("u-after", 3)
	b.complete()
	stored := b.Inventory()
	for value, want := range map[string]string{
		"1": "after Ready",
		"2": "after Waiting: reads job, which is done (removed after its TTL): change job to run it again, or keep its object",
	} {
		again := newEnv(t, spec(value), stored, Options{})
		again.survey(result(t, after, "u-after", 3).Object)
		again.step()
		again.step()
		again.wantShow("job Ready: done (removed after its TTL)", want)
	}
}
