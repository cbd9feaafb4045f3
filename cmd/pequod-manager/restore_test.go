package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// saved are the kinds in a backup, in the order in which Velero restores them: those with a
// priority first, and all others by the names of their resources.
var saved = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "resourcegraphs"},
	{Version: "v1", Resource: "services"},
	{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "transforms"},
	{Group: "pequod.io", Version: "v1alpha1", Resource: "webservices"},
}

// instancesSaved is the number of instances in the backup.
const instancesSaved = 5

// backup makes a platform with instances in the namespace shop, and returns all their objects
// by resource.
func backup(t *testing.T) map[string][]unstructured.Unstructured {
	t.Helper()
	c, _ := deployed.Install(t)
	defer c.Stop(t)
	p := start(t, c)
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	c.Apply(t, webService(process.Namespace))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	for i := range instancesSaved {
		c.Apply(t, fmt.Sprintf("{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web-%d, namespace: shop}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: 1}}", i))
	}
	allReady(t, c)
	all := map[string][]unstructured.Unstructured{}
	for _, resource := range saved {
		list, err := c.Dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			if ofPlatform(&object) {
				all[resource.Resource] = append(all[resource.Resource], object)
			}
		}
	}
	if n := len(all["deployments"]); n != instancesSaved || len(all["resourcegraphs"]) != n || len(all["webservices"]) != n {
		t.Fatalf("the backup has %d Deployments", n)
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	return all
}

// ofPlatform reports whether an object belongs to the backup.
func ofPlatform(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return o.GetName() == "webservices.pequod.io"
	case "Namespace":
		return o.GetName() == "shop"
	case "ServiceAccount", "ClusterRole", "ClusterRoleBinding":
		return labels.SelectorFromSet(roles.Selector()).Matches(labels.Set(o.GetLabels()))
	case "ConfigMap":
		return o.GetNamespace() == "shop" && o.GetName() != "kube-root-ca.crt"
	case "Transform":
		return true
	case "ControllerRevision": // the sources of the platform
		return o.GetNamespace() == process.Namespace
	}
	return o.GetNamespace() == "shop"
}

// restored creates an object of a backup as Velero does: without its status, the metadata of the
// former cluster and its owners, but with its finalizers, and with labels of Velero. The managed
// fields follow by a patch. An object that exists is left as it is. It returns the UID.
func restored(t *testing.T, c *harness.Cluster, resource schema.GroupVersionResource, object unstructured.Unstructured) types.UID {
	t.Helper()
	o := object.DeepCopy()
	delete(o.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	if o.GetKind() == "Service" {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	marked := o.GetLabels()
	if marked == nil {
		marked = map[string]string{}
	}
	marked["velero.io/backup-name"], marked["velero.io/restore-name"] = "daily", "daily-1"
	o.SetLabels(marked)
	client := c.Await(t, o.GetAPIVersion(), o.GetKind(), o.GetNamespace())
	stored, err := client.Create(t.Context(), o, metav1.CreateOptions{FieldManager: "velero-server"})
	if apierrors.IsAlreadyExists(err) {
		stored, err = client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	}
	if err != nil {
		t.Fatalf("%s %s: %v", resource.Resource, o.GetName(), err)
	}
	managers, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": object.GetManagedFields()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Patch(t.Context(), o.GetName(), types.MergePatchType, managers, metav1.PatchOptions{FieldManager: "velero-server"}); err != nil {
		t.Fatalf("%s %s: %v", resource.Resource, o.GetName(), err)
	}
	return stored.GetUID()
}

// allReady waits until all instances are ready, and nothing is left to be done.
func allReady(t *testing.T, c *harness.Cluster) {
	t.Helper()
	for i := range instancesSaved {
		hasCondition(t, c, "pequod.io/v1alpha1", "WebService", "shop", fmt.Sprintf("web-%d", i), "Ready", "True", "")
	}
}

// uids returns the UIDs of the objects of some resources in the namespace shop.
func uids(t *testing.T, c *harness.Cluster, resources ...string) map[string]types.UID {
	t.Helper()
	all := map[string]types.UID{}
	for _, resource := range saved {
		if !slices.Contains(resources, resource.Resource) {
			continue
		}
		list, err := c.Dynamic.Resource(resource).Namespace("shop").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			all[resource.Resource+" "+o.GetName()] = o.GetUID()
		}
	}
	return all
}

// TestRestore restores a backup in an empty cluster: everything becomes ready, and no object is
// deleted, or made in addition to those of the backup.
func TestRestore(t *testing.T) {
	t.Parallel()
	all := backup(t)
	order := func(resources ...string) (kinds []schema.GroupVersionResource) {
		for _, name := range resources {
			i := slices.IndexFunc(saved, func(r schema.GroupVersionResource) bool { return r.Resource == name })
			kinds = append(kinds, saved[i])
		}
		return kinds
	}
	for _, test := range []struct {
		name  string
		first []schema.GroupVersionResource // before the manager starts
		then  []schema.GroupVersionResource
	}{
		{name: "all with the manager running", then: saved},
		{name: "all before the manager", first: saved},
		// What the handbook recommends. The manager makes the rest.
		{name: "platforms and instances", first: order("namespaces", "transforms"), then: order("webservices")},
		{name: "objects, platforms and instances", first: order("namespaces", "deployments", "services", "transforms"), then: order("webservices")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _ := deployed.Install(t)
			c.Apply(t, scraperRole(c.Namespace))
			want := map[string]types.UID{}
			restore := func(kinds []schema.GroupVersionResource) {
				for _, kind := range kinds {
					for _, object := range all[kind.Resource] {
						uid := restored(t, c, kind, object)
						if slices.Contains([]string{"deployments", "services", "resourcegraphs", "webservices"}, kind.Resource) {
							want[kind.Resource+" "+object.GetName()] = uid
						}
					}
				}
			}
			restore(test.first)
			p := start(t, c)
			if len(test.then) > 0 && test.then[0].Resource == "webservices" {
				hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
			}
			restore(test.then)
			hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
			allReady(t, c)
			got := uids(t, c, "deployments", "services", "resourcegraphs", "webservices")
			if len(got) != 4*instancesSaved {
				t.Errorf("%d objects, want %d: %v", len(got), 4*instancesSaved, got)
			}
			for name, uid := range want {
				if got[name] != uid {
					t.Errorf("%s was deleted: UID %q, now %q", name, uid, got[name])
				}
			}
			checkOwned(t, c)
			checkCalm(t, c, p)
			stopped(t, p)
			for _, line := range p.Log.Lines() {
				// A graph that was there before its roles is executed again when they are made.
				if strings.Contains(line, "forbidden") && !strings.Contains(line, "the condition Ready of a graph has changed") {
					t.Errorf("a right is missing: %s", line)
				}
			}
		})
	}
}

// checkOwned checks that each graph belongs to its instance again, so that deleting the instance
// deletes the graph.
func checkOwned(t *testing.T, c *harness.Cluster) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		graphs, err := c.Dynamic.Resource(schema.GroupVersionResource{Group: "platform.pequod.io", Version: "v1alpha1", Resource: "resourcegraphs"}).Namespace("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		owners := uids(t, c, "webservices")
		for _, g := range graphs.Items {
			owner := metav1.GetControllerOf(&g)
			if owner == nil || owners["webservices "+owner.Name] != owner.UID {
				return fmt.Errorf("ResourceGraph %s has the owner %v", g.GetName(), owner)
			}
		}
		return nil
	})
}

// checkCalm checks that no controller was busy all the time. A Transform whose CRD was restored was
// reconciled a thousand times a second once, as long as the CRD was not the manager's.
func checkCalm(t *testing.T, c *harness.Cluster, p *process.Process) {
	t.Helper()
	_, body, err := process.Get(t.Context(), "https://"+p.Metrics+"/metrics", c.ServiceAccount(t, c.Namespace, "scraper").BearerToken)
	if err != nil {
		t.Fatal(err)
	}
	if n := value(body, "pequod_reconcile_total"); n == 0 || n > 500 {
		t.Errorf("%d reconciliations of %d instances", n, instancesSaved)
	}
}
