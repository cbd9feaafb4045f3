package transform_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/workers"
)

// real returns an env whose manager fetches and evaluates as pequod-manager does.
func real(t *testing.T) *env {
	t.Helper()
	b := idle(t, harness.Start(t))
	b.options.Loader, b.options.Fetcher = workers.Pool(t, worker.Options{}), fetch.New(fetch.Options{Client: b.Client.CoreV1()})
	b.start(b.Config)
	return b
}

// TestEmbedded makes platforms of all embedded modules.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	b := real(t)
	for _, name := range modules.Embedded() {
		b.create(b.transform(name, "", func(t *v1alpha1.Transform) {
			t.Spec.CueRef = v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}
			t.Spec.Group = b.group
		}))
	}
	for _, name := range modules.Embedded() {
		got := b.ready(name)
		rules, err := b.roleOf(t.Context(), "", name)
		if err != nil || len(rules) == 0 {
			t.Errorf("%s: rules %v, %v", name, rules, err)
		}
		if b.crd(got.Status.GeneratedCRD) == nil {
			t.Errorf("%s: no CRD %s", name, got.Status.GeneratedCRD)
		}
	}
}

// TestConfigMap makes a platform of a ConfigMap, whose content then changes.
func TestConfigMap(t *testing.T) {
	t.Parallel()
	b := real(t)
	b.create(b.transform("app", "", func(t *v1alpha1.Transform) {
		t.Spec.CueRef = v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: "app"}
	}))
	b.until("app", func(t *v1alpha1.Transform) error {
		if got := conditions(t)["CueFetched"]; !strings.HasPrefix(got, "False") {
			return errors.New(got)
		}
		return nil
	})
	module := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "app", Labels: map[string]string{v1alpha1.LabelCueModule: "true"}}}
	module.Data = map[string]string{"app.cue": b.appModule(`text: string`)}
	b.create(module)
	request := func(value string) {
		b.edit("app", func(t *v1alpha1.Transform) {
			t.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: value}
		})
	}
	request("1")
	old := b.ready("app")
	module.Data["app.cue"] = b.appModule(`text: string, more: int`)
	if err := b.client.Update(t.Context(), module); err != nil {
		t.Fatal(err)
	}
	request("2")
	b.blocked("app", "CRDGenerated", "BreakingChange", "v1alpha1 spec.more: ")
	module.Data["app.cue"] = b.appModule(`text: nothing`)
	if err := b.client.Update(t.Context(), module); err != nil {
		t.Fatal(err)
	}
	request("3")
	b.blocked("app", "SchemaExtracted", "InvalidModule", `reference "nothing" not found`)
	module.Data["app.cue"] = b.appModule(`text: string, more?: int`)
	if err := b.client.Update(t.Context(), module); err != nil {
		t.Fatal(err)
	}
	request("4")
	b.until("app", func(t *v1alpha1.Transform) error {
		if r := t.Status.ResolvedCueRef; r.Digest == old.Status.ResolvedCueRef.Digest || t.Status.Phase != v1alpha1.TransformReady {
			return errors.New("the module is the old one")
		}
		return nil
	})
}
