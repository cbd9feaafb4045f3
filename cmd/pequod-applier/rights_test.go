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
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
)

// TestRightsComeAfterTheGraph applies graphs before their account, and before its roles, as
// kubectl apply does with files in another order. The graph is tried again soon enough,
// although the installed applier may watch neither accounts nor roles and --resync is long, and
// its status names the command that helps.
func TestRightsComeAfterTheGraph(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	installed.Start(t, c, account, "--resync=24h").Ready(t)
	parts := strings.Split(graphOf("early"), "\n---\n")
	c.Apply(t, parts[len(parts)-1])
	says := func(texts ...string) {
		t.Helper()
		harness.Eventually(t, 3*time.Minute, func(context.Context) error {
			graph := c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "early")
			conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
			for _, text := range append(texts, "the next try is within 30s") {
				if !strings.Contains(fmt.Sprint(conditions), text) {
					return fmt.Errorf("%q isn't in %v", text, conditions)
				}
			}
			return nil
		})
	}
	says("ServiceAccountMissing", "kubectl create serviceaccount pequod -n "+c.Namespace)
	c.Apply(t, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod}}`)
	says("Forbidden", "kubectl get resourcegraph early -n "+c.Namespace+" -o yaml | pequod rbac generate -f -")
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: pequod}]
`)
	harness.Eventually(t, 3*time.Minute, func(context.Context) error {
		return isReady(c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "early"))
	})
}

// TestRightsGoBeforeTheGraph takes the rights of an account away. The installed applier may watch nothing
// but graphs, and learns of it when it lists the objects of the graph the next time.
func TestRightsGoBeforeTheGraph(t *testing.T) {
	t.Parallel()
	c, account := installed.Borrow(t)
	installed.Start(t, c, account, "--resync=10s").Ready(t)
	parts := strings.Split(graphOf("web"), "\n---\n")
	c.Apply(t, graphOf("web"))
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", c.Namespace)
	until := func(judge func(*unstructured.Unstructured, error) error) {
		t.Helper()
		harness.Eventually(t, 3*time.Minute, func(ctx context.Context) error { return judge(graphs.Get(ctx, "web", metav1.GetOptions{})) })
	}
	ready := func(graph *unstructured.Unstructured, err error) error {
		if err == nil {
			err = isReady(graph)
		}
		return err
	}
	says := func(text string) func(graph *unstructured.Unstructured, err error) error {
		return func(graph *unstructured.Unstructured, err error) error {
			if err == nil && (isReady(graph) == nil || !strings.Contains(fmt.Sprint(graph.Object["status"]), text)) {
				err = fmt.Errorf("%q isn't in %v", text, graph.Object["status"])
			}
			return err
		}
	}
	revoke := func() {
		t.Helper()
		if err := c.Client.RbacV1().RoleBindings(c.Namespace).Delete(t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hold := func(finalizers string) {
		t.Helper()
		patch := []byte(`{"metadata": {"finalizers": ` + finalizers + `}}`)
		if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	until(ready)
	revoke()
	until(says("is forbidden"))
	c.Apply(t, parts[2])
	until(ready)

	// While the graph waits for the end of its object.
	hold(`["example.com/hold"]`)
	if err := graphs.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(says("is being deleted"))
	revoke()
	hold("null")
	until(says("is forbidden"))
	// The namespace takes the rights with it, too.
	if err := c.Client.CoreV1().Namespaces().Delete(t.Context(), c.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(func(_ *unstructured.Unstructured, err error) error {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the graph isn't gone"))
	})
}
