package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
)

// validator answers what spec.text of an instance asks for.
type validator struct {
	count atomic.Int32
	block chan struct{} // not nil: instances of App wait until it is closed
}

func (v *validator) Validate(ctx context.Context, e *catalog.Entry, in *unstructured.Unstructured) (problem.List, error) {
	v.count.Add(1)
	if v.block != nil && e == entry {
		<-v.block
	}
	switch text, _, _ := unstructured.NestedString(in.Object, "spec", "text"); text {
	case "wrong":
		return problem.List{{Path: "spec.text", Message: "is wrong", Hint: "write more"}, {Severity: problem.Warning, Path: "spec", Message: "is old"}}, nil
	case "module":
		return problem.List{{Position: problem.Position{File: "app.cue", Line: 2, Column: 1}, Path: "spec.text", Message: "conflicts"}}, nil
	case "warning":
		return problem.List{{Severity: problem.Warning, Path: "spec.text", Message: "is old"}, {Severity: problem.Note, Message: "nothing"}}, nil
	case "many":
		var all problem.List
		for i := range 12 {
			all = append(all, problem.Problem{Path: fmt.Sprintf("spec.text%d", i), Message: "is wrong"})
		}
		return all, nil
	case "error":
		return nil, errors.New("no processes")
	}
	return nil, nil
}

var entry = &catalog.Entry{
	Transform: types.NamespacedName{Namespace: "pequod-system", Name: "app"}, Digest: "sha256:1", IgnoresLabels: true, IgnoresAnnotations: true,
	Names: v1alpha1.Names{Group: "pequod.io", Version: "v1", Kind: "App", Plural: "apps", Scope: v1alpha1.ScopeNamespaced},
}

// neighbor is the platform of another Transform.
var neighbor = &catalog.Entry{
	Transform: types.NamespacedName{Namespace: "pequod-system", Name: "queue"}, Digest: "sha256:2",
	Names: v1alpha1.Names{Group: "pequod.io", Version: "v1", Kind: "Queue", Plural: "queues", Scope: v1alpha1.ScopeNamespaced},
}

func newWebhook(v Validator) *Webhook {
	return New(Options{Validator: v, Platform: func(kind schema.GroupKind) *catalog.Entry {
		for _, e := range []*catalog.Entry{entry, neighbor} {
			if kind == e.Kind() {
				return e
			}
		}
		return nil
	}})
}

func request(t *testing.T, kind, name, text string) admission.Request {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "pequod.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": map[string]any{"text": text},
	})
	if err != nil {
		t.Fatal(err)
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Namespace: "shop", Name: name, Object: runtime.RawExtension{Raw: raw},
		Kind: metav1.GroupVersionKind{Group: "pequod.io", Version: "v1", Kind: kind},
	}}
}

// TestResponses holds the answers, and that an instance that can't be checked isn't refused.
func TestResponses(t *testing.T) {
	w := newWebhook(&validator{})
	for _, test := range []struct {
		kind, text, message string
		code                int32
		causes              int
		warnings            []string
	}{
		{kind: "App", text: "good", code: http.StatusOK},
		{kind: "App", text: "wrong", code: http.StatusUnprocessableEntity, message: "spec.text: is wrong; write more", causes: 1},
		{kind: "App", text: "module", code: http.StatusUnprocessableEntity, message: "app.cue:2:1: spec.text: conflicts"},
		{kind: "App", text: "warning", code: http.StatusOK, warnings: []string{"spec.text: is old"}},
		{kind: "App", text: "error", code: http.StatusServiceUnavailable, message: "App web could not be checked: no processes"},
		{kind: "Other", text: "good", code: http.StatusServiceUnavailable, message: "the module of Other.pequod.io is not loaded yet"},
	} {
		r := w.Handle(t.Context(), request(t, test.kind, "web", test.text))
		causes := 0
		if r.Result.Details != nil {
			causes = len(r.Result.Details.Causes)
		}
		if r.Result.Code != test.code || r.Allowed != (test.code == http.StatusOK) || r.Result.Message != test.message || causes != test.causes || !cmp.Equal(r.Warnings, test.warnings) {
			t.Errorf("%s %s: %+v %+v", test.kind, test.text, r.AdmissionResponse, r.Result)
		}
	}
	r := w.Handle(t.Context(), request(t, "App", "web", "many"))
	if lines := strings.Split(r.Result.Message, "\n"); len(lines) != 11 || lines[10] != "2 more problems" {
		t.Errorf("%q", lines)
	}
	other := request(t, "App", "web", "good")
	other.Kind.Kind = "Queue"
	if r := w.Handle(t.Context(), other); r.Result.Code != http.StatusBadRequest {
		t.Errorf("an object of another kind than the request: %+v", r.Result)
	}
	deletion := request(t, "App", "web", "wrong")
	deletion.Operation = admissionv1.Delete
	if !w.Handle(t.Context(), deletion).Allowed {
		t.Error("a deletion is refused")
	}
}

// TestVerdictsAreRemembered holds that equal instances are evaluated once, and others, and
// failures, each time.
func TestVerdictsAreRemembered(t *testing.T) {
	v := &validator{}
	w := newWebhook(v)
	for i, test := range []struct {
		name, text string
		count      int32
	}{{"web", "good", 1}, {"web", "good", 1}, {"other", "good", 2}, {"web", "wrong", 3}, {"web", "wrong", 3}, {"web", "error", 4}, {"web", "error", 5}} {
		w.Handle(t.Context(), request(t, "App", test.name, test.text))
		if got := v.count.Load(); got != test.count {
			t.Errorf("%d: %d evaluations, want %d", i, got, test.count)
		}
	}
}

// TestBusy holds that a module that evaluates for long doesn't take all room: requests for other
// platforms are admitted.
func TestBusy(t *testing.T) {
	v := &validator{block: make(chan struct{})}
	w := newWebhook(v)
	answers := make(chan admission.Response, maxWaiting)
	for i := range maxWaiting {
		go func() { answers <- w.Handle(context.Background(), request(t, "App", fmt.Sprint(i), "good")) }()
	}
	for end := time.Now().Add(time.Minute); v.count.Load() < maxWaiting; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the requests don't begin")
		}
	}
	if r := w.Handle(t.Context(), request(t, "App", "more", "good")); r.Result.Code != http.StatusServiceUnavailable || !strings.Contains(r.Result.Message, "512 others") {
		t.Errorf("%+v", r.Result)
	}
	if r := w.Handle(t.Context(), request(t, "Queue", "web", "good")); !r.Allowed {
		t.Errorf("another platform meanwhile: %+v", r.Result)
	}
	close(v.block)
	for range maxWaiting {
		if r := <-answers; !r.Allowed {
			t.Errorf("%+v", r.Result)
		}
	}
	if r := w.Handle(t.Context(), request(t, "App", "more", "good")); !r.Allowed {
		t.Errorf("afterwards: %+v", r.Result)
	}
}

// TestVersion holds which version of a platform checks an instance.
func TestVersion(t *testing.T) {
	e := &catalog.Entry{
		Module: catalog.Module{Digest: "sha256:new", Version: "v2"}, Digest: "sha256:2",
		Others: []catalog.Version{{Module: catalog.Module{Digest: "sha256:old", Version: "v1"}, Digest: "sha256:1"}},
	}
	rolling := *e
	rolling.Rollout = &v1alpha1.Rollout{}
	for _, test := range []struct {
		name, pin, status string
		entry             *catalog.Entry
		want              string
	}{
		{"new", "", "", &rolling, "sha256:new"},
		{"of the former version", "", "sha256:old", &rolling, "sha256:old"},
		{"of the current version", "", "sha256:new", &rolling, "sha256:new"},
		{"of a version that is gone", "", "sha256:older", &rolling, "sha256:new"},
		{"without a rollout", "", "sha256:old", e, "sha256:new"},
		{"pinned", "v1", "sha256:new", e, "sha256:old"},
		{"pinned to a version that is gone", "v0", "sha256:old", &rolling, "sha256:new"},
	} {
		in := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"module": map[string]any{"digest": test.status}}}}
		if test.pin != "" {
			in.SetAnnotations(map[string]string{v1alpha1.AnnotationPinnedVersion: test.pin})
		}
		if got := Version(test.entry, in).Module.Digest; got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
