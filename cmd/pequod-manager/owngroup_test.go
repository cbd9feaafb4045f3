package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// memoTransform defines a kind in an API group of its own, in which the installed roles give the
// manager no rights.
const memoTransform = `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: memo, namespace: pequod-system}
spec:
  group: apps.example.com
  managedResources: [{apiGroup: "", resources: [configmaps]}]
  cueRef:
    type: inline
    files:
    - name: a.cue
      content: |
        package a
        #Platform: kind: "Memo"
        #Input: text: string
        #Render: {
          input: {metadata: {name: string, namespace: string}, spec: #Input}
          output: nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: input.metadata.name, data: text: input.spec.text}
        }
`

// transformReady waits until a Transform of the manager has the condition Ready with a reason, and
// returns its message.
func transformReady(t *testing.T, c *harness.Cluster, name, status, reason string) (message string) {
	t.Helper()
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		obj, err := transforms.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, entry := range conditions {
			if c := entry.(map[string]any); c["type"] == "Ready" && c["status"] == status && c["reason"] == reason {
				message = c["message"].(string)
				return nil
			}
		}
		return fmt.Errorf("Ready isn't %s for %s: %v", status, reason, obj.Object["status"])
	})
	return message
}

// transformEvent waits until there is an Event about a Transform of the manager.
func transformEvent(t *testing.T, c *harness.Cluster, name, reason, note string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		events, err := c.Client.EventsV1().Events(process.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range events.Items {
			if e.Regarding.Kind == "Transform" && e.Regarding.Name == name {
				if seen = append(seen, e.Reason+": "+e.Note); e.Reason == reason && strings.Contains(e.Note, note) {
					return nil
				}
			}
		}
		return fmt.Errorf("no Event %s with %q; but %s", reason, note, strings.Join(seen, "\n"))
	})
}

// TestOwnGroup uses a kind in an API group for which the manager has no rights: the Transform says so,
// is ready soon after the ClusterRole of its message was applied, and no longer when that is taken away.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	start(t, c)
	c.Apply(t, memoTransform)
	message := transformReady(t, c, "memo", "False", "InstancesForbidden")
	if !strings.Contains(message, "may not get memos, list memos, watch memos, patch memos, patch memos/status of the group apps.example.com") {
		t.Error(message)
	}
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "memo", "RBACConfigured", "False", "InstancesForbidden")
	transformEvent(t, c, "memo", "InstancesForbidden", "pequod-manager may not get memos")
	c.Await(t, "apps.example.com/v1alpha1", "Memo", c.Namespace)
	c.Apply(t, "{apiVersion: apps.example.com/v1alpha1, kind: Memo, metadata: {name: m}, spec: {text: hello}}")

	// The role is in the message, from the first brace to the last.
	role := message[strings.Index(message, "{") : strings.LastIndex(message, "}")+1]
	granted := c.Apply(t, role)[0]
	transformReady(t, c, "memo", "True", "Succeeded")
	hasCondition(t, c, "apps.example.com/v1alpha1", "Memo", c.Namespace, "m", "Ready", "True", "")

	remove := func() {
		t.Helper()
		if err := c.Client.RbacV1().ClusterRoles().Delete(t.Context(), granted.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	transformReady(t, c, "memo", "False", "InstancesForbidden")
	c.Apply(t, role)
	transformReady(t, c, "memo", "True", "Succeeded")
	c.Apply(t, "{apiVersion: apps.example.com/v1alpha1, kind: Memo, metadata: {name: m}, spec: {text: again}}")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		made, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, "m", metav1.GetOptions{})
		if err == nil && made.Data["text"] != "again" {
			err = fmt.Errorf("text %q", made.Data["text"])
		}
		return err
	})
	hasCondition(t, c, "apps.example.com/v1alpha1", "Memo", c.Namespace, "m", "Ready", "True", "")

	// Without the rights, a deleted Transform can't know whether there are instances.
	remove()
	transformReady(t, c, "memo", "False", "InstancesForbidden")
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	if err := transforms.Delete(t.Context(), "memo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if message = transformReady(t, c, "memo", "False", "InstancesForbidden"); !strings.Contains(message, "the Transform is being deleted when no instance exists: pequod-manager may not") {
			return errors.New(message)
		}
		return nil
	})
	c.Apply(t, role)
	transformReady(t, c, "memo", "False", "InstancesExist")
	if err := c.Await(t, "apps.example.com/v1alpha1", "Memo", c.Namespace).Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := transforms.Get(ctx, "memo", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Transform isn't gone"), err)
		}
		return nil
	})
}

// TestTransformNotReady creates an instance of a Transform that never was ready, because the manager
// may not grant a right: the instance shows that, and both go on when the manager has the right.
func TestTransformNotReady(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	start(t, c)
	c.Apply(t, strings.Replace(webService(process.Namespace), "resources: [services]", "resources: [services, secrets]", 1))
	transformReady(t, c, "webservice", "False", "EscalationRefused")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 8080, replicas: 1}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "False", "TransformNotReady")
	if phase, _, _ := unstructured.NestedString(c.Get(t, "pequod.io/v1alpha1", "WebService", "web").Object, "status", "phase"); phase != "Pending" {
		t.Errorf("phase %q", phase)
	}
	c.AwaitEvent(t, patience, "WebService", "web", "TransformNotReady", "Transform pequod-system/webservice isn't ready: EscalationRefused: ")
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pequod-manager-secrets, labels: {pequod.io/aggregate-to-manager: "true"}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update, patch, delete]}]
`)
	granted := time.Now()
	transformReady(t, c, "webservice", "True", "Succeeded")
	// Without a watch of roles, it would be tried again after a minute.
	t.Logf("ready %s after the rights", time.Since(granted))
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
}
