package revision_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/test/harness"
)

// Sources that are too large for one object are read back as they were, revisions of other
// Transforms are left alone, and the newest sources of a module are kept.
func TestStore(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := revision.Store{Client: reader, API: reader, Namespace: c.Namespace}
	key := types.NamespacedName{Namespace: c.Namespace, Name: "app"}
	app := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "u"}}
	other := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: key.Name, UID: "v"}}
	seed := [32]byte{1}
	large := make([]byte, 2_500_000)
	if _, err := rand.NewChaCha8(seed).Read(large); err != nil {
		t.Fatal(err)
	}
	version := func(module string, sources []byte) catalog.Version {
		return catalog.Version{Module: catalog.Module{Digest: module, Version: "v1"}, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(sources)), IgnoresLabels: true}
	}
	one, small := version("one", large), []byte("small")
	two := version("two", small)
	for _, save := range []struct {
		t       *v1alpha1.Transform
		v       catalog.Version
		sources []byte
	}{{app, one, large}, {app, two, small}, {app, one, large}, {other, one, large}} {
		if err := s.Save(t.Context(), save.t, save.v, save.sources); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(want ...catalog.Version) {
		t.Helper()
		got, err := s.List(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		known := map[catalog.Version]bool{}
		for _, v := range got {
			known[v] = true
		}
		expected := map[catalog.Version]bool{}
		for _, v := range want {
			expected[v] = true
		}
		if diff := cmp.Diff(expected, known); diff != "" || len(got) != len(want) {
			t.Errorf("versions (-want +got):\n%s", diff)
		}
	}
	listed(one, two)
	if got, err := s.Read(t.Context(), key, one.Digest); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes were read, %v", len(got), err)
	}
	if _, err := s.Read(t.Context(), key, "sha256:none"); !apierrors.IsNotFound(err) {
		t.Errorf("reading what was not saved: %v", err)
	}
	if err := s.Prune(t.Context(), key, func(v catalog.Version) bool { return v == two }); err != nil {
		t.Fatal(err)
	}
	listed(two)
	var left appsv1.ControllerRevisionList
	if err := reader.List(t.Context(), &left, client.InNamespace(c.Namespace)); err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, r := range left.Items {
		if owners := len(r.OwnerReferences); owners > 0 != (r.Annotations["pequod.io/transform"] == key.String()) {
			t.Errorf("%s has %d owners", r.Name, owners)
		}
		parts++
	}
	if parts != 1+3 {
		t.Errorf("%d objects are left", parts)
	}
	if err := s.Prune(t.Context(), key, func(catalog.Version) bool { return false }); err != nil {
		t.Fatal(err)
	}
	listed()
}
