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

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
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
	block chan struct{} // not nil: wait until it is closed
}

func (v *validator) Validate(ctx context.Context, _ *catalog.Entry, in *unstructured.Unstructured) (problem.List, error) {
	v.count.Add(1)
	if v.block != nil {
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

func newWebhook(v Validator) *Webhook {
	return New(Options{Validator: v, Platforms: func(kind schema.GroupKind, _ *unstructured.Unstructured) []*catalog.Entry {
		if kind == entry.Kind() {
			return []*catalog.Entry{entry}
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

// TestBusy holds that a module that evaluates for long doesn't take all room.
func TestBusy(t *testing.T) {
	v := &validator{block: make(chan struct{})}
	w := newWebhook(v)
	answers := make(chan admission.Response, maxWaiting)
	for i := range maxWaiting {
		go func() { answers <- w.Handle(context.Background(), request(t, "App", fmt.Sprint(i), "good")) }()
	}
	for v.count.Load() < maxWaiting {
		select {
		case <-t.Context().Done():
			t.Fatal("the requests don't begin")
		default:
		}
	}
	if r := w.Handle(t.Context(), request(t, "App", "more", "good")); r.Result.Code != http.StatusServiceUnavailable || !strings.Contains(r.Result.Message, "64 others") {
		t.Errorf("%+v", r.Result)
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

// TestRefusedByAllVersions holds that an instance is accepted if one of the versions that may
// render it accepts it.
func TestRefusedByAllVersions(t *testing.T) {
	later := *entry
	later.Digest = "sha256:2"
	v := refusing{map[string]bool{"sha256:2": true}}
	w := New(Options{Validator: v, Platforms: func(schema.GroupKind, *unstructured.Unstructured) []*catalog.Entry {
		return []*catalog.Entry{&later, entry}
	}})
	if r := w.Handle(t.Context(), request(t, "App", "web", "good")); !r.Allowed {
		t.Errorf("%+v", r.Result)
	}
	v.digests[entry.Digest] = true
	if r := w.Handle(t.Context(), request(t, "App", "other", "good")); r.Allowed || r.Result.Message != "spec: refused by sha256:2" {
		t.Errorf("%+v", r.Result)
	}
}

// refusing refuses all instances of some versions.
type refusing struct{ digests map[string]bool }

func (v refusing) Validate(_ context.Context, e *catalog.Entry, _ *unstructured.Unstructured) (problem.List, error) {
	if v.digests[e.Digest] {
		return problem.List{{Path: "spec", Message: "refused by " + e.Digest}}, nil
	}
	return nil, nil
}
