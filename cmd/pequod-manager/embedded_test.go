package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// around contains the objects of others that the test cases of embedded modules refer to.
const around = `
apiVersion: v1
kind: ConfigMap
metadata: {name: databasecluster}
data: {repository: acme/databases}
---
apiVersion: v1
kind: Secret
metadata: {name: orders-from-vault}
---
apiVersion: v1
kind: Secret
metadata: {name: preview}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web-account}
`

// uploads is the volume that a case of backup saves, unless it makes one.
const uploads = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: uploads}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// orders is a StatefulSet of another team that a test case of application waits for.
const orders = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: orders}
spec:
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec: {containers: [{name: main, image: orders}]}
`

// routes is the kind of the Gateway API that webservice uses, without its schema.
const routes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: httproutes.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: unapproved}
spec:
  group: gateway.networking.k8s.io
  names: {plural: httproutes, singular: httproute, kind: HTTPRoute, listKind: HTTPRouteList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestEmbeddedModules runs every test case of every embedded module in the manager as it is
// installed, from the Transform to the Ready instance, with no rights but those that the manager
// grants by itself. Where it may not, its message has the ClusterRole that lets it.
func TestEmbeddedModules(t *testing.T) {
	t.Parallel()
	c, access := deployed.Install(t)
	c.Apply(t, string(config.Actions))
	c.Apply(t, routes)
	prepareNodes(t, c)
	p := deployed.Start(t, c, access)
	p.Ready(t)
	for _, name := range modules.Embedded() {
		c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: "+name+", namespace: "+process.Namespace+"}, spec: {cueRef: {type: embedded, ref: "+name+"}}}")
	}
	allowed := ""
	for _, name := range modules.Embedded() {
		if role := transformIsReady(t, c, name); role != "" {
			allowed += name
			c.Apply(t, role)
			hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, name, "Ready", "True", "")
		}
	}
	if allowed != "database" {
		t.Errorf("needs more rights: %s, want database, which writes a Secret", allowed)
	}

	var instances []*unstructured.Unstructured
	for _, name := range modules.Embedded() {
		instances = append(instances, casesOf(t, c, name)...)
	}
	for _, instance := range instances {
		hasCondition(t, c, instance.GetAPIVersion(), instance.GetKind(), instance.GetNamespace(), instance.GetName(), "Ready", "True", "")
	}
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") && !strings.Contains(line, "pequod:transform:pequod-system:database") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// prepareNodes gives the nodes and the cluster what the Pods and claims of the cases ask for.
func prepareNodes(t *testing.T, c *harness.Cluster) {
	t.Helper()
	nodes, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		labels := []byte(`{"metadata": {"labels": {"disk": "ssd", "kubernetes.io/arch": "amd64"}}}`)
		if _, err := c.Client.CoreV1().Nodes().Patch(t.Context(), node.Name, types.MergePatchType, labels, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	classes, err := c.Client.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(classes.Items) == 0 {
		t.Fatal(err, "no StorageClass")
	}
	for _, name := range []string{"cheap", "fast"} {
		c.Apply(t, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "+name+"}, provisioner: "+classes.Items[0].Provisioner+"}")
	}
}

// transformIsReady waits until a Transform is ready, or until its rights are refused. Then it
// returns the ClusterRole of the message.
func transformIsReady(t *testing.T, c *harness.Cluster, name string) (role string) {
	t.Helper()
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		obj, err := transforms.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, entry := range conditions {
			condition, _ := entry.(map[string]any)
			switch {
			case condition["type"] == "Ready" && condition["status"] == "True":
				return nil
			case condition["type"] == "RBACConfigured" && condition["reason"] == "EscalationRefused":
				_, role, _ = strings.Cut(condition["message"].(string), "apply this ClusterRole: ")
				if !json.Valid([]byte(role)) {
					t.Fatalf("the message has no ClusterRole: %v", condition["message"])
				}
				return nil
			}
		}
		return fmt.Errorf("%s is neither ready nor refused: %v", name, conditions)
	})
	return role
}

// casesOf applies the instances of the test cases of a module that have a graph, each case in a
// namespace of its own.
func casesOf(t *testing.T, c *harness.Cluster, name string) []*unstructured.Unstructured {
	t.Helper()
	files, err := modules.EmbeddedSource(name)
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := fs.Glob(files, "tests/*/graph.yaml")
	if err != nil || len(graphs) == 0 {
		t.Fatal(err, graphs)
	}
	var all []*unstructured.Unstructured
	for _, file := range graphs {
		data, err := fs.ReadFile(files, path.Join(path.Dir(file), "instance.yaml"))
		golden, other := fs.ReadFile(files, file)
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		own := *c
		own.Namespace = name + "-" + path.Base(path.Dir(file))
		c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+own.Namespace+"}}")
		own.Apply(t, around)
		switch {
		case name == "application":
			own.Apply(t, orders)
		case name == "backup" && !strings.Contains(string(golden), "kind: PersistentVolumeClaim"):
			own.Apply(t, uploads)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			instance := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &instance.Object); err != nil {
				t.Fatal(err)
			}
			instance.SetNamespace(own.Namespace)
			text, err := json.Marshal(instance)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, own.Apply(t, string(text))...)
			if name == "databasecluster" {
				completeAction(t, &own, instance.GetName())
			}
		}
	}
	return all
}

// completeAction reports an Action as successful, as pequod-actions would after a run of GitHub,
// which is tested in cmd/pequod-actions.
func completeAction(t *testing.T, c *harness.Cluster, name string) {
	t.Helper()
	actions := c.Await(t, "platform.pequod.io/v1alpha1", "Action", c.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := actions.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	c.SetStatus(t, "platform.pequod.io/v1alpha1", "Action", name, map[string]any{
		"observedGeneration": 1, "outputs": map[string]any{"endpoint": "db.example.com:5432"},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": string(corev1.ConditionTrue), "reason": "Succeeded", "message": "", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	})
}
