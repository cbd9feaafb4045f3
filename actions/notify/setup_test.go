package notify

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/internal/fluxowner"
)

// answers are Kustomizations of any name: an object, or an error.
type answers struct {
	dynamic.NamespaceableResourceInterface
	object *unstructured.Unstructured
	err    error
}

func (a answers) Namespace(string) dynamic.ResourceInterface { return a }

func (a answers) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	return a.object, a.err
}

// TestRevisionUnread checks which errors of reading a Kustomization delay a notice, and that a missing right
// is logged once.
func TestRevisionUnread(t *testing.T) {
	t.Parallel()
	by := fluxowner.Of(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"})
	chart := fluxowner.Of(map[string]string{"helm.toolkit.fluxcd.io/name": "apps", "helm.toolkit.fluxcd.io/namespace": "flux-system"})
	away := errors.New("the API server is away")
	var lines strings.Builder
	n := &notifier{log: funcr.New(func(_, args string) { lines.WriteString(args + "\n") }, funcr.Options{})}
	check := func(name string, of *corev1.ObjectReference, a answers, want string, failed bool) {
		t.Helper()
		n.Kustomizations = a
		got, err := n.revision(t.Context(), of)
		if got.Source != want || (err != nil) != failed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"lastAppliedRevision": "main@sha1:a"}}}
	forbidden := apierrors.NewForbidden(Kustomizations.GroupResource(), "apps", errors.New("no role"))
	check("read", by, answers{object: applied}, "main@sha1:a", false)
	check("a HelmRelease", chart, answers{object: applied}, "", false)
	check("no object of Flux", nil, answers{object: applied}, "", false)
	check("gone", by, answers{err: apierrors.NewNotFound(Kustomizations.GroupResource(), "apps")}, "", false)
	check("away", by, answers{err: away}, "", true)
	check("forbidden", by, answers{err: forbidden}, "", false)
	check("forbidden again", by, answers{err: forbidden}, "", false)
	if text := lines.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "no role") {
		t.Errorf("log: %s", text)
	}
}
