package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// with returns the manifests of a directory of config with one of its components.
func with(t *testing.T, dir, component string) []byte {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mine := t.TempDir()
	config, err := filepath.Rel(mine, filepath.Join(here, "..", "..", "config", dir))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s]\ncomponents: [%s/components/%s]\n", config, config, component)
	if err := os.WriteFile(filepath.Join(mine, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), mine)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

// startWatched is like start. It also returns the proxy that the manager's requests go through.
func startWatched(t *testing.T, c *harness.Cluster) (*process.Process, *faults.Proxy) {
	t.Helper()
	proxy := c.Proxy(t, 1)
	p := deployed.Start(t, c, proxy.Config(c.ServiceAccount(t, process.Namespace, deployed.Account)))
	p.Ready(t)
	return p, proxy
}

// TestRenders has a manager leave the execution of its graphs to an applier, each with the rights
// that it is installed with and no others. Graphs that it executed before change hands with their
// objects.
func TestRenders(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	p, proxy := startWatched(t, c)
	c.Apply(t, webService(process.Namespace))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	instance := func(replicas int) {
		t.Helper()
		c.Apply(t, fmt.Sprintf("{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: %d}}", replicas))
		deployments := c.Client.AppsV1().Deployments(c.Namespace)
		harness.Eventually(t, patience, func(ctx context.Context) error {
			live, err := deployments.Get(ctx, "web", metav1.GetOptions{})
			if err == nil && *live.Spec.Replicas != int32(replicas) {
				err = fmt.Errorf("%d replicas", *live.Spec.Replicas)
			}
			return err
		})
		hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	}
	instance(2)
	before := c.Get(t, "apps/v1", "Deployment", "web").GetUID()
	watchedOnce := func() {
		t.Helper()
		if watched := proxy.Watched("resourcegraphs.platform.pequod.io"); len(watched) != 1 {
			t.Errorf("graphs are watched by the labels %q", watched)
		}
	}
	watchedOnce()
	p.Stop(t)

	c.Apply(t, string(with(t, "default", "render")))
	c.Apply(t, string(with(t, "applier", "rendered")))
	roles := c.Client.RbacV1()
	for _, err := range []error{
		roles.ClusterRoleBindings().Delete(t.Context(), "pequod-manager-grants", metav1.DeleteOptions{}),
		roles.RoleBindings(process.Namespace).Delete(t.Context(), "pequod-manager-accounts", metav1.DeleteOptions{}),
		roles.RoleBindings(process.Namespace).Delete(t.Context(), "pequod-manager-transforms", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p, proxy = startWatched(t, c)
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "RBACConfigured", "True", "NotExecuted")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: other}, spec: {image: 'ghcr.io/example/web:v1', port: 80}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "other", "Ready", "Unknown", "Progressing")
	if text := fmt.Sprint(c.Get(t, "pequod.io/v1alpha1", "WebService", "other").Object["status"]); !strings.Contains(text, "pequod-applier hasn't begun to execute it") {
		t.Errorf("without an applier, the instance says: %s", text)
	}
	watchedOnce()
	applier := process.Program{Name: "pequod-applier", Account: "pequod-applier"}
	a := applier.Start(t, c, c.ServiceAccount(t, process.Namespace, applier.Account))
	a.Ready(t)
	// The account of the Transform is not one of the graph's namespace.
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "False", "ServiceAccountMissing")

	c.Apply(t, strings.ReplaceAll(team, "NAMESPACE", c.Namespace))
	c.Apply(t, strings.Replace(webService(process.Namespace), "spec: {", "spec: {serviceAccountName: team, ", 1))
	instance(3)
	if after := c.Get(t, "apps/v1", "Deployment", "web").GetUID(); after != before {
		t.Error("the Deployment was deleted and created again")
	}
	if err := c.Dynamic.Resource(webservices).Namespace(c.Namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := func(name string) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			_, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the Deployment %s isn't deleted: %w", name, err)
		})
	}
	deleted("web")

	// The applier doesn't know why an instance is deleted.
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "other", "Ready", "True", "")
	definitions := c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := definitions.Delete(t.Context(), "webservices.pequod.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted("other")
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "InstancesLost", "True", "DefinitionDeleted")
	transforms := c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("transforms")).Namespace(process.Namespace)
	live, err := transforms.Get(t.Context(), "webservice", metav1.GetOptions{})
	if text := fmt.Sprint(live); err != nil || !strings.Contains(text, "are deleted by pequod-applier") {
		t.Errorf("%s %v", text, err)
	}
	for _, program := range []*process.Process{p, a} {
		for _, line := range program.Log.Lines() {
			if strings.Contains(line, "forbidden") {
				t.Errorf("a right is missing: %s", line)
			}
		}
	}
}
