package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
