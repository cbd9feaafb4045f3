package helm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// TestInstall installs the chart in a cluster, upgrades it with its definitions, and removes
// it. The definitions stay, with the objects of their kinds, and more releases have the
// other modes.
func TestInstall(t *testing.T) {
	c := harness.StartOwn(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := helm(t, append(args, "--kubeconfig="+c.Kubeconfig, "--namespace=pequod-system")...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	column := func() bool {
		t.Helper()
		definition := c.Get(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "transforms.platform.pequod.io")
		text, err := definition.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), `".status.generatedCRD"`)
	}
	older := withoutColumn(t)
	run("install", "pequod", older, "--create-namespace", "--set=mode=operator", "--wait", "--timeout=3m")
	if column() {
		t.Fatal("the older chart has the column")
	}
	run("upgrade", "pequod", chart, "--set=mode=operator,replicas=2", "--wait", "--timeout=3m")
	deployment, err := c.Client.AppsV1().Deployments("pequod-system").Get(t.Context(), "pequod-controller-manager", metav1.GetOptions{})
	if err != nil || deployment.Status.ReadyReplicas != 2 {
		t.Errorf("Deployment: %+v, %v", deployment.Status, err)
	}
	if !column() {
		t.Error("an upgrade doesn't change the definitions")
	}
	run("install", "applier", chart, "--set=shared=false,checkAuthors=true", "--wait", "--timeout=3m")
	run("install", "actions", chart, "--set=mode=actions,shared=false,podDisruptionBudget=true,replicas=2", "--wait", "--timeout=3m")
	budget, err := c.Client.PolicyV1().PodDisruptionBudgets("pequod-system").Get(t.Context(), "pequod-actions", metav1.GetOptions{})
	if err != nil || budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("disruption budget: %+v, %v", budget.Spec, err)
	}
	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: kept, namespace: pequod-system}, spec: {serviceAccountName: none, http: {url: https://example.com}}}")
	run("uninstall", "applier", "--wait")
	run("uninstall", "actions", "--wait")
	actions := c.Await(t, "platform.pequod.io/v1alpha1", "Action", "pequod-system")
	if kept, err := actions.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || kept.GetDeletionTimestamp() != nil {
		t.Errorf("the Action isn't kept: %v", err)
	}

	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: kept, namespace: pequod-system}, spec: {cueRef: {type: embedded, ref: webservice}}}")
	run("uninstall", "pequod", "--wait")
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := c.Client.AppsV1().Deployments("pequod-system").Get(ctx, "pequod-controller-manager", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the manager isn't gone"), err)
		}
		return nil
	})
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", "pequod-system")
	if kept, err := transforms.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || kept.GetDeletionTimestamp() != nil {
		t.Errorf("the Transform isn't kept: %v", err)
	}
	run("install", "pequod", chart, "--set=mode=operator", "--wait", "--timeout=3m")
}

// withoutColumn returns a copy of the chart whose definition of Transforms lacks a column.
func withoutColumn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "templates", "crds.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const column = "    - jsonPath: .status.generatedCRD\n      name: CRD\n      type: string\n"
	if strings.Count(string(text), column) != 1 {
		t.Fatal("the definitions have another column than expected")
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), column, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
