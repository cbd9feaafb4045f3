package notify

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/fluxowner"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// failed returns an Event about an Action.
func failed(change func(*eventsv1.Event)) *eventsv1.Event {
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: "shop", Name: "db.1", UID: "e"},
		ReportingController: "pequod-actions", ReportingInstance: "pequod-actions-0",
		Type: corev1.EventTypeWarning, Reason: "ApplyFailed", Note: "the run\nhas \x1b[31mfailed\u202e", EventTime: metav1.NewMicroTime(at),
		Regarding: corev1.ObjectReference{APIVersion: "platform.pequod.io/v1alpha1", Kind: "Action", Namespace: "shop", Name: "db", UID: "u", ResourceVersion: "7"},
	}
	if change != nil {
		change(e)
	}
	return e
}

// TestOfEvent checks which Events become notices. Those of other programs don't: whoever may write
// Events could say anything about an object.
func TestOfEvent(t *testing.T) {
	t.Parallel()
	want := Notice{
		ID: "e-1", Object: corev1.ObjectReference{APIVersion: "platform.pequod.io/v1alpha1", Kind: "Action", Namespace: "shop", Name: "db", UID: "u"},
		Failed: true, Reason: "ApplyFailed", Message: "the run has ?[31mfailed?", At: at, Count: 1, Reporter: "pequod-actions", Instance: "pequod-actions-0",
	}
	got, ok := OfEvent(failed(nil))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.ID, want.Count, want.At = "e-4", 4, at.Add(time.Minute)
	got, _ = OfEvent(failed(func(e *eventsv1.Event) {
		e.Series = &eventsv1.EventSeries{Count: 4, LastObservedTime: metav1.NewMicroTime(at.Add(time.Minute))}
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a series (-want +got):\n%s", diff)
	}
	got, ok = OfEvent(failed(func(e *eventsv1.Event) { e.Namespace, e.Regarding.Namespace = "default", "" }))
	if !ok || of(got.Object) != "Action db" {
		t.Errorf("in no namespace: %v", got)
	}
	kustomization := fluxowner.Of(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"})
	for reporter, want := range map[string]*corev1.ObjectReference{"pequod-manager": kustomization, "pequod-applier": nil} {
		got, _ = OfEvent(failed(func(e *eventsv1.Event) { e.ReportingController, e.Related = reporter, kustomization }))
		if got.Applied != want {
			t.Errorf("%s: applied by %v", reporter, got.Applied)
		}
	}
	for name, change := range map[string]func(*eventsv1.Event){
		"another program":   func(e *eventsv1.Event) { e.ReportingController = "kubelet" },
		"another namespace": func(e *eventsv1.Event) { e.Regarding.Namespace = "payments" },
		"no namespace":      func(e *eventsv1.Event) { e.Regarding.Namespace = "" },
		"no object":         func(e *eventsv1.Event) { e.Regarding.Name = "" },
	} {
		if n, ok := OfEvent(failed(change)); ok {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// TestOfGraph checks which executions become notices: those that complete a revision.
func TestOfGraph(t *testing.T) {
	t.Parallel()
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "shop", Name: "web"}}
	revision := func(generation, attempt int64, result v1alpha1.GraphPhase) v1alpha1.Revision {
		return v1alpha1.Revision{
			Revision: generation, Attempt: attempt, Result: result, FinishedAt: metav1.NewTime(at), Duration: "1.5s", Message: "3 objects are ready", Created: 1, Updated: 2,
		}
	}
	rg.Status.History = []v1alpha1.Revision{ // newest first
		revision(3, 2, "Completed"), revision(3, 1, "Failed"), revision(2, 2, "Failed"), revision(1, 3, "Completed"), revision(1, 2, "Completed"), revision(1, 1, "Completed"),
		revision(1, 0, "Completed"),
	}
	var got []string
	for _, n := range OfGraph(rg) {
		got = append(got, n.ID+": "+n.Message)
	}
	want := []string{
		"u-3-completed: generation 3: 3 objects are ready: created 1, updated 2, deleted 0 in 1.5s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rg.Status.History = rg.Status.History[4:6]
	if all := OfGraph(rg); len(all) != 1 || all[0].ID != "u-1-completed" || all[0].Generation != 1 || all[0].Failed {
		t.Errorf("the first revision: %+v", all)
	}
}

// TestFlux checks the format of Flux, with the type of its package and nothing else.
func TestFlux(t *testing.T) {
	t.Parallel()
	decode := func(n Notice) eventv1.Event {
		header, body, err := Flux.Encode(n)
		if err != nil || header.Get("Content-Type") != "application/json" {
			t.Fatal(header, err)
		}
		var e eventv1.Event
		strict := json.NewDecoder(bytes.NewReader(body))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&e); err != nil {
			t.Fatal(err)
		}
		e.Timestamp.Time = e.Timestamp.UTC()
		return e
	}
	n, _ := OfEvent(failed(nil))
	want := eventv1.Event{
		InvolvedObject: n.Object, Severity: "error", Timestamp: metav1.NewTime(at), Message: "the run has ?[31mfailed?", Reason: "ApplyFailed",
		ReportingController: "pequod-actions", ReportingInstance: "pequod-actions-0",
	}
	if diff := cmp.Diff(want, decode(n)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n.Generation = 3
	n.Applied = fluxowner.Of(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"})
	want.InvolvedObject = corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "flux-system", Name: "apps"}
	want.Message = "Action shop/db: the run has ?[31mfailed?"
	want.Metadata = map[string]string{"kustomize.toolkit.fluxcd.io/object": "Action shop/db", "kustomize.toolkit.fluxcd.io/token": "3"}
	if diff := cmp.Diff(want, decode(n)); diff != "" {
		t.Errorf("applied by Flux (-want +got):\n%s", diff)
	}
	n.Revision = Revision{Source: "main@sha1:a", Origin: "main@sha1:b"}
	want.Metadata["kustomize.toolkit.fluxcd.io/revision"], want.Metadata["kustomize.toolkit.fluxcd.io/originRevision"] = "main@sha1:a", "main@sha1:b"
	if diff := cmp.Diff(want, decode(n)); diff != "" {
		t.Errorf("with a revision (-want +got):\n%s", diff)
	}
	// Its rate limit means that it has the event.
	limited := &egress.Response{Status: http.StatusTooManyRequests}
	if Flux.Verdict(limited) != outbox.Delivered || CloudEvents.Verdict(limited) != outbox.Repeat || Flux.Verdict(&egress.Response{Status: 500}) != outbox.Repeat {
		t.Error("verdicts")
	}
}

// TestRevisionOf checks which revision is reported while a Kustomization applies the next one.
func TestRevisionOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attempted, applied, ready, reason string
		want                              Revision
	}{
		"nothing yet":             {"", "", "", "", Revision{}},
		"applied":                 {"a", "a", "True", "ReconciliationSucceeded", Revision{"a", "origin"}},
		"applied, and unhealthy":  {"a", "a", "False", "HealthCheckFailed", Revision{"a", "origin"}},
		"the next one is applied": {"b", "a", "Unknown", "Progressing", Revision{"b", ""}},
		"the next is unhealthy":   {"b", "a", "False", "HealthCheckFailed", Revision{"b", ""}},
		"the next can't be built": {"b", "a", "False", "BuildFailed", Revision{"a", "origin"}},
		"the first can't be":      {"b", "", "False", "BuildFailed", Revision{}},
	} {
		status := map[string]any{"conditions": []any{"other", map[string]any{"type": "Ready", "status": test.ready, "reason": test.reason}}}
		if test.attempted != "" {
			status["lastAttemptedRevision"] = test.attempted
		}
		if test.applied != "" {
			status["lastAppliedRevision"], status["lastAppliedOriginRevision"] = test.applied, "origin"
		}
		if got := RevisionOf(&unstructured.Unstructured{Object: map[string]any{"status": status}}); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if got := RevisionOf(&unstructured.Unstructured{Object: map[string]any{"status": "none"}}); got != (Revision{}) {
		t.Errorf("another status: %+v", got)
	}
}

// TestCloudEvents decodes a CloudEvent with the SDK. Its id is the same whenever it is made.
func TestCloudEvents(t *testing.T) {
	t.Parallel()
	n, _ := OfEvent(failed(nil))
	n.Resource = "actions"
	header, body, err := CloudEvents.Encode(n)
	if err != nil || header.Get("Content-Type") != "application/cloudevents+json" {
		t.Fatal(header, err)
	}
	e := event.New()
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		t.Error(err)
	}
	got := []string{e.SpecVersion(), e.ID(), e.Type(), e.Source(), e.Subject(), e.Time().Format(time.RFC3339), e.Extensions()["severity"].(string), string(e.Data())}
	want := []string{
		"1.0", "e-1", "io.pequod.action.ApplyFailed", "/apis/platform.pequod.io/v1alpha1/namespaces/shop/actions/db", "shop/db", "2026-03-01T12:00:00Z", "error",
		`{"object":{"kind":"Action","namespace":"shop","name":"db","uid":"u","apiVersion":"platform.pequod.io/v1alpha1"},"severity":"error","reason":"ApplyFailed","message":"the run has ?[31mfailed?","count":1,"reportingController":"pequod-actions","reportingInstance":"pequod-actions-0"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n.Revision = Revision{Source: "main@sha1:a"}
	if _, with, err := CloudEvents.Encode(n); err != nil || !bytes.Contains(with, []byte(`"revision":"main@sha1:a"`)) {
		t.Errorf("with a revision: %s, %v", with, err)
	}
	again, _ := OfEvent(failed(nil))
	again.Resource = "actions"
	if _, same, err := CloudEvents.Encode(again); err != nil || !bytes.Equal(body, same) {
		t.Errorf("made again: %s, %v", same, err)
	}
}

// TestHostile encodes notices with texts that somebody else wrote.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", `"}, {"severity": "info`, "<script>alert(1)</script>", "\xff\xfe", strings.Repeat("é", 10_000), "a\r\nHost: b", "\x00", "{{.Env}} ${HOME} $(id)",
	} {
		n, ok := OfEvent(failed(func(e *eventsv1.Event) { e.Note, e.Reason, e.ReportingInstance = text, text, text }))
		if !ok {
			t.Fatal("no notice")
		}
		for _, format := range []Format{Flux, CloudEvents} {
			header, body, err := format.Encode(n)
			if err != nil && text != "" { // a type needs a reason
				t.Errorf("%s: %.20q: %v", format, text, err)
			}
			if err == nil && (!json.Valid(body) || len(body) > 100_000 || len(header) != 1 || len(n.Message) > maxText || strings.ContainsAny(n.Message, "\r\n\x00")) {
				t.Errorf("%s: %.20q: %s", format, text, body)
			}
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "neither flux nor cloudevents") {
		t.Errorf("another format: %v", err)
	}
}
