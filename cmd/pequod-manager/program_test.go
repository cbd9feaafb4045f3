package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// deployed is the manager as it is installed.
var deployed = process.Program{Name: name, Account: "pequod-controller-manager", Manifests: config.Operator}

func TestMain(m *testing.M) { process.Main(m) }

const patience = 3 * time.Minute

// start runs the manager, and waits until it is ready.
func start(t *testing.T, c *harness.Cluster, args ...string) *process.Process {
	t.Helper()
	p := deployed.Start(t, c, c.ServiceAccount(t, process.Namespace, deployed.Account), args...)
	p.Ready(t)
	return p
}

// webService is a Transform in a namespace.
func webService(namespace string) string {
	return "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: webservice, namespace: " + namespace + "}, spec: {cueRef: {type: embedded, ref: webservice}, managedResources: [{apiGroup: apps, resources: [deployments]}, {apiGroup: '', resources: [services]}]}}"
}

// hasCondition waits until an object has a condition.
func hasCondition(t *testing.T, c *harness.Cluster, apiVersion, kind, namespace, name, condition, status, reason string) {
	t.Helper()
	objects := c.Await(t, apiVersion, kind, namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		obj, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, entry := range conditions {
			if c, ok := entry.(map[string]any); ok && c["type"] == condition && c["status"] == status && (reason == "" || c["reason"] == reason) {
				return nil
			}
		}
		return fmt.Errorf("%s isn't %s: %v", condition, status, obj.Object["status"])
	})
}

// TestInstalled runs the program as the account that config/default installs: from a
// Transform and an instance to a Deployment, and back. What it is allowed to do is tested by
// that.
func TestInstalled(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	p := start(t, c)
	c.Apply(t, webService(process.Namespace))
	c.Apply(t, webService(c.Namespace))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", c.Namespace, "webservice", "Ready", "False", "NamespaceNotAllowed")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'nginx:latest', port: 80, replicas: 3}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	deployment, err := c.Client.AppsV1().Deployments(c.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if deployment.Labels["pequod.io/graph"] == "" {
		t.Errorf("labels of the Deployment: %v", deployment.Labels)
	}

	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		obj, err := transforms.Get(ctx, "webservice", metav1.GetOptions{})
		if err != nil {
			return err
		}
		counts, _, _ := unstructured.NestedMap(obj.Object, "status", "instances")
		if counts["total"] != int64(1) || counts["ready"] != int64(1) || counts["failed"] != int64(0) {
			return fmt.Errorf("status.instances is %v", counts)
		}
		return nil
	})

	// The metrics have a controller for each kind of object.
	c.Apply(t, scraperRole(c.Namespace))
	scraper := c.ServiceAccount(t, c.Namespace, "scraper").BearerToken
	var scraped string
	harness.Eventually(t, patience, func(ctx context.Context) error {
		code, body, err := process.Get(ctx, "https://"+p.Metrics+"/metrics", scraper)
		scraped = body
		for _, series := range []string{
			`pequod_reconcile_total{controller="transform",result="success"}`, `pequod_reconcile_total{controller="platforminstance",result="success"}`,
			`pequod_reconcile_total{controller="resourcegraph",result="success"}`, `pequod_cue_fetch_total{result="success",source="embedded"}`,
			"pequod_cue_cache_misses_total", `pequod_cue_render_duration_seconds_count{platform="pequod-system/webservice"}`, "pequod_cue_processes",
			`pequod_transforms{condition="Ready",platform="pequod-system/webservice",status="True"}`, `pequod_instances{phase="Ready",platform="pequod-system/webservice"}`,
		} {
			if err == nil && !strings.Contains(body, "\n"+series+" ") {
				err = fmt.Errorf("%d: no %s", code, series)
			}
		}
		return err
	})
	checkDocumented(t, scraped)

	// Deleting the instance deletes what it has, and then the Transform its kind.
	instances := c.Await(t, "pequod.io/v1alpha1", "WebService", c.Namespace)
	if err := instances.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, "web", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Deployment isn't gone"), err)
		}
		return nil
	})
	if err := transforms.Delete(t.Context(), "webservice", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	definitions := c.Await(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		for _, get := range []func() error{
			func() error { _, err := transforms.Get(ctx, "webservice", metav1.GetOptions{}); return err },
			func() error { _, err := definitions.Get(ctx, "webservices.pequod.io", metav1.GetOptions{}); return err },
			func() error {
				_, err := c.Client.CoreV1().ServiceAccounts(process.Namespace).Get(ctx, "pequod-transform-webservice", metav1.GetOptions{})
				return err
			},
		} {
			if err := get(); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("the platform isn't gone"), err)
			}
		}
		return nil
	})
	if code := p.Stop(t); code != 0 {
		t.Errorf("asked to end, it ended with exit code %d", code)
	}
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// TestPolicyMissing checks that the manager isn't ready while the policy that protects its
// graphs is missing, and is again when it is back.
func TestPolicyMissing(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	p := start(t, c)
	bindings := c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if err := bindings.Delete(t.Context(), "pequod-operator-graphs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		code, body, err := process.Get(ctx, "http://"+p.Probes+"/readyz", "")
		if err == nil && (code != http.StatusInternalServerError || !strings.Contains(body, "[-]graph-policy failed")) {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
	c.Apply(t, string(config.GraphPolicy))
	p.Ready(t)
}
