package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// nodes returns the spec of a graph of ConfigMaps: "a", "b<a", "c<a,b".
func nodes(texts ...string) string {
	var list []string
	for _, text := range texts {
		name, needs, _ := strings.Cut(text, "<")
		list = append(list, "{id: "+name+", resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+`}, data: {a: "1"}}, dependencies: [`+needs+"]}")
	}
	return "graph: {nodes: [" + strings.Join(list, ", ") + "]}"
}

func TestOrderAndIntent(t *testing.T) {
	b := newEnv(t, nodes("a", "b<a", "c"), nil, Options{Prune: true})
	b.expect("Survey")
	b.answer(Survey, Outcome{})
	b.expect("Record") // the intent, before anything is written
	if b.last.Phase != Executing {
		t.Errorf("phase %s", b.last.Phase)
	}
	b.expect("")
	intent := b.answer(Record, Outcome{}).Inventory
	if len(intent.Entries) != 3 || intent.Complete || intent.Revision != b.revision {
		t.Errorf("intent %+v", intent)
	}
	b.expect("Apply a, Apply c")
	b.wantShow("a Applying", "b Blocked: waits for a", "c Applying")
	b.applyNext("u-a", 1)
	b.expect("Apply b")
	b.applyNext("u-c", 2)
	b.applyNext("u-b", 3)
	b.expect("Record")
	if final := b.answer(Record, Outcome{}).Inventory; !final.Complete {
		t.Errorf("final %+v", final)
	}
	b.expect("")
	if b.last.Phase != Completed {
		t.Errorf("phase %s", b.last.Phase)
	}
	// A deleted object is created again, and its dependents wait.
	b.ObserveGone(configMap(t, self, "a", "u-a", 9, "1"))
	b.expect("Read a")
	b.answer(Read, Outcome{})
	b.expect("Apply a")
	b.applyNext("u-a2", 10)
	b.expect("Record")
}

func TestBlockedAndStuck(t *testing.T) {
	b := newEnv(t, nodes("a", "b<a", "c<b", "d"), nil, Options{Prune: true})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.expect("Apply a, Apply d")
	b.wantShow("a Applying", "b Blocked: waits for a", "c Blocked: waits for b, which waits for a", "d Applying")
	b.answer(Apply, Outcome{Err: &Failure{Reason: ReasonDenied, Message: "no", Terminal: true}})
	b.expect("")
	if b.last.Phase != Executing {
		t.Errorf("phase %s while d is being applied", b.last.Phase)
	}
	b.wantShow("a Failed Denied: no", "b Blocked: waits for a, which failed", "c Blocked: waits for b, which waits for a, which failed", "d Applying")
	if by := b.Statuses()[2].BlockedBy; by != "b" {
		t.Errorf("c is blocked by %s, want the nearest", by)
	}
	b.applyNext("u-d", 1)
	b.expect("Record")
	if inv := b.answer(Record, Outcome{}).Inventory; inv.Complete {
		t.Error("recorded as complete")
	}
	b.expect("")
	if b.last.Phase != Stuck || !b.last.Wake.IsZero() {
		t.Errorf("phase %s, wake %v", b.last.Phase, b.last.Wake)
	}
	// A terminal failure is retried when the object is another one.
	b.Observe(configMap(t, self, "a", "u-other", 7, "0"))
	b.expect("Apply a")
}

// Transient failures are retried with increasing delays, although the object can be
// read in between.
func TestRetries(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{Backoff: Backoff{Base: time.Second, Max: 5 * time.Second}})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	for n, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 9 * time.Second} {
		err := error(errors.New("timed out"))
		if n == 4 {
			err = &Failure{Reason: ReasonQuotaExceeded, Message: "exceeded", RetryAfter: wait}
		}
		b.answer(Apply, Outcome{Err: err})
		b.expect("Read a") // the Apply may have been executed
		b.answer(Read, Outcome{})
		b.expect("")
		s := b.Statuses()[0]
		if got := b.last.Wake.Sub(b.now); got != wait || s.Attempts != n+1 || !s.NextAttempt.Equal(b.last.Wake) {
			t.Fatalf("failure %d: waits %v, want %v; status %+v", n+1, got, wait, s)
		}
		b.now = b.last.Wake
		b.expect("Apply a")
	}
	b.applyNext("u-a", 1)
	b.step()
	if s := b.Statuses()[0]; s.Attempts != 0 || s.Reason != "" || !s.NextAttempt.IsZero() {
		t.Errorf("after success: %+v", s)
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range []time.Duration{1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		if got := (Backoff{}).After(n); got != want*time.Second {
			t.Errorf("after %d failures %v, want %v", n, got, want*time.Second)
		}
	}
	if got := (Backoff{}).After(1000); got != 5*time.Minute {
		t.Errorf("after 1000 failures %v", got)
	}
	if got := (Backoff{}).AtMost(MaxTransientBackoff).After(1000); got != MaxTransientBackoff {
		t.Errorf("at most %v: %v", MaxTransientBackoff, got)
	}
	if got := (Backoff{Max: time.Second}).AtMost(MaxTransientBackoff).After(1000); got != time.Second {
		t.Errorf("at most a second: %v", got)
	}
	for jitter, want := range map[float64]time.Duration{0: 4 * time.Second, 0.5: 3 * time.Second, 1: 2 * time.Second} {
		if got := (Backoff{Jitter: func() float64 { return jitter }}).After(3); got != want {
			t.Errorf("jitter %v: %v, want %v", jitter, got, want)
		}
	}
}

// Errors of the API server itself are retried soon. Rejected requests are retried soon while
// they haven't failed for long, because a quota, for example, may just be about to be raised,
// and then ever later.
func TestTransientBackoff(t *testing.T) {
	for failures, want := range map[int]map[string]time.Duration{
		3:  {ReasonApplyFailed: 4 * time.Second, ReasonQuotaExceeded: 4 * time.Second},
		6:  {ReasonApplyFailed: MaxTransientBackoff, ReasonQuotaExceeded: 32 * time.Second},
		7:  {ReasonApplyFailed: MaxTransientBackoff, ReasonQuotaExceeded: time.Minute},
		50: {ReasonApplyFailed: MaxTransientBackoff, ReasonQuotaExceeded: 5 * time.Minute},
	} {
		for reason, want := range want {
			s := retryState{failures: failures - 1}
			s.fail(&Failure{Reason: reason}, time.Time{}, Backoff{})
			if got := s.retryAt.Sub(time.Time{}); got != want {
				t.Errorf("%s, failure %d: %v, want %v", reason, failures, got, want)
			}
		}
	}
}

const neverReady = `graph: {nodes: [{id: a, applyPolicy: {timeout: 10s}, readyWhen: [{type: Expression, expr: object.data.a == '2'}],
	resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}}]}`

func TestReadinessTimeout(t *testing.T) {
	b := newEnv(t, neverReady, nil, Options{ExplainInterval: 4 * time.Second})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	b.applyNext("u-a", 1)
	b.expect("")
	b.wantShow("a Progressing: object.data.a == '2' is false")
	if wake := b.last.Wake.Sub(b.now); wake != 2*time.Second {
		t.Errorf("wakes after %v, want the first explanation after 2s", wake)
	}
	b.now = b.last.Wake
	b.expect("Explain a")
	b.answer(Explain, Outcome{Found: readiness.Verdict{Message: "the image can't be pulled"}})
	b.now = b.now.Add(time.Second)
	b.expect("")
	b.wantShow("a Progressing: object.data.a == '2' is false: the image can't be pulled")
	b.now = b.now.Add(7 * time.Second)
	b.step()
	b.wantShow("a Failed ReadinessTimeout: not ready in 10s: object.data.a == '2' is false: the image can't be pulled")
	b.answer(Explain, Outcome{})
	// The node recovers when its object becomes ready.
	ready := configMap(t, self, "a", "u-a", 2, "2")
	b.ledger.entries[b.nodes.byID["a"].key] = func(e inventory.Entry) inventory.Entry { e.Live = b.newObservation(e.Key, ready).live; return e }(b.ledger.entries[b.nodes.byID["a"].key])
	b.Observe(ready)
	b.step()
	b.wantShow("a Ready")
}

// Two writers that disagree don't keep overwriting each other. While a correction is
// delayed, the status stays the same at every step.
func TestCorrections(t *testing.T) {
	jitter := 0.0
	b := newEnv(t, nodes("a"), nil, Options{Prune: true, Backoff: Backoff{Jitter: func() float64 { jitter += 0.3; return jitter - float64(int(jitter)) }}})
	b.complete()
	version := 10
	drift := func() {
		version++
		b.Observe(configMap(t, self, "a", "u-a", version, "9"))
	}
	var waits []time.Duration
	for range 4 {
		drift()
		began := b.now
		for b.step() == "" {
			if again := b.Step(b.now); len(again.Changes) > 0 || !again.Wake.Equal(b.last.Wake) {
				t.Fatalf("a step later: %+v", again)
			}
			b.now = b.last.Wake
		}
		waits = append(waits, b.now.Sub(began))
		version++
		if a := b.applyNext("u-a", version); !a.Apply.Drift || !a.Apply.Force {
			t.Errorf("%+v", a.Apply)
		}
		b.expect("")
		if op := b.Statuses()[0].Op; op != Corrected || b.last.Phase != Completed {
			t.Errorf("op %s, phase %s", op, b.last.Phase)
		}
	}
	if waits[0] != 0 || waits[1] == 0 || waits[2] <= waits[1] || waits[3] <= waits[2] {
		t.Errorf("corrections wait %v", waits)
	}
	b.now = b.now.Add(correctionReset + time.Second)
	drift()
	b.expect("Apply a")
}

func TestReportDrift(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{Drift: ReportDrift})
	b.complete()
	b.Observe(configMap(t, self, "a", "u-a", 20, "9"))
	b.expect("")
	if s := b.Statuses()[0]; b.last.Phase != Completed || s.Phase != v1alpha1.NodeReady || !s.Drifted {
		t.Errorf("phase %s, status %+v", b.last.Phase, s)
	}
	if len(b.last.Changes) != 1 || !b.last.Changes[0].Drifted {
		t.Errorf("changes %+v", b.last.Changes)
	}
	b.Observe(configMap(t, self, "a", "u-a", 21, "1"))
	b.expect("")
	if s := b.Statuses()[0]; s.Drifted {
		t.Errorf("changed back: %+v", s)
	}
}

func TestMirror(t *testing.T) {
	adopt := `, adopt: {strategy: Mirror, mode: LabelSelector, labelSelector: {matchLabels: {app: x}}, resources: [{apiVersion: v1, kind: ConfigMap, name: a}]}}`
	b := newEnv(t, "{"+nodes("a", "b", "c")+adopt, nil, Options{Prune: true})
	selected := configMap(t, inventory.Owner{}, "b", "u-b", 1, "7")
	selected.SetLabels(map[string]string{"app": "x"})
	b.survey(selected)
	b.step()
	b.answer(Record, Outcome{})
	b.expect("Apply c") // which doesn't exist; a is awaited, b only read
	b.applyNext("u-c", 2)
	b.expect("")
	b.wantShow("a Waiting: ConfigMap default/a doesn't exist", "b Ready", "c Ready")
	b.Observe(configMap(t, other, "a", "u-a", 3, "7"))
	b.complete()
	if b.Statuses()[0].Op != Observed || b.Statuses()[1].Op != Observed {
		t.Errorf("%+v", b.Statuses())
	}
	for _, e := range b.Inventory().Entries {
		if e.Name == "a" || e.Name == "b" && e.UID != "" {
			t.Errorf("the inventory owns %+v", e)
		}
	}
}

// A graph with only external objects never records anything.
func TestNothingToRecord(t *testing.T) {
	b := newEnv(t, `graph: {nodes: [{id: a, externalRef: {apiVersion: v1, kind: ConfigMap, name: a}}]}`, nil, Options{Prune: true})
	b.survey(configMap(t, inventory.Owner{}, "a", "u-a", 1, "1"))
	b.expect("")
	if b.last.Phase != Completed {
		t.Errorf("phase %s", b.last.Phase)
	}
}

// A lost inventory is recovered from objects that the graph applied: not from copies,
// and not from objects with an owner reference.
func TestRecover(t *testing.T) {
	copied := configMap(t, self, "copy", "u-copy", 3, "1")
	unstructured.RemoveNestedField(copied.Object, "metadata", "managedFields")
	owned := configMap(t, self, "owned", "u-owned", 4, "1")
	owned.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}}
	claim := live(t, self, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, uid: u-disk, resourceVersion: "5"}}`)
	b := newEnv(t, nodes("a"), nil, Options{Prune: true})
	b.survey(configMap(t, self, "a", "u-a", 1, "1"), configMap(t, self, "old", "u-old", 2, "1"), copied, owned, claim,
		configMap(t, other, "theirs", "u-theirs", 6, "1"))
	b.expect("LoadClaims, Record") // other graphs may list the recovered objects
	names := map[string]bool{}
	for _, e := range b.answer(Record, Outcome{}).Inventory.Entries {
		names[e.Name] = e.Orphan
	}
	if len(names) != 3 || names["a"] || names["old"] || !names["disk"] {
		t.Errorf("the inventory has, and orphans: %v", names)
	}
	b.answer(LoadClaims, Outcome{})
	b.expect("Apply a")
	b.applyNext("u-a", 7)
	b.expect("Delete old, Release disk")
}

// The rights to one object may come while another object isn't ready yet, which may take long.
func TestForbiddenBesideProgressing(t *testing.T) {
	b := newEnv(t, `graph: {nodes: [
	{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}},
	{id: b, readyWhen: [{type: Expression, expr: object.data.a == '2'}], resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: "1"}}},
	{id: c, externalRef: {apiVersion: v1, kind: Secret, name: c}}]}`, nil, Options{Damper: NewDamper()})
	forbidden := Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}}
	b.step()
	b.answer(Survey, Outcome{Unreadable: map[inventory.Key]error{{Kind: "Secret", Namespace: "default", Name: "c"}: errors.New("forbidden")}})
	b.step()
	b.answer(Record, Outcome{})
	b.answer(Read, forbidden)
	b.step()
	b.answer(Apply, forbidden)
	b.applyNext("u-b", 1)
	b.step()
	b.wantShow("a Failed Forbidden: may not", "b Progressing: object.data.a == '2' is false", "c Failed Forbidden: may not")
	if b.last.Phase != Executing {
		t.Errorf("the graph is %s", b.last.Phase)
	}
	if wait := b.last.Wake.Sub(b.now); wait <= 0 || wait > 5*time.Second {
		t.Errorf("wakes after %v", wait)
	}
	b.now = b.now.Add(5 * time.Second)
	b.expect("Apply a, Read c")
	b.answer(Read, Outcome{})
	b.applyNext("u-a", 1)
	b.step()
	b.wantShow("a Ready", "b Progressing: object.data.a == '2' is false", "c Waiting: Secret default/c doesn't exist")
}
