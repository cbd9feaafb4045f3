package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// readinessPatience is how long the graphs of these tests may take. Pods are judged when they
// are half a minute old, and the machine may be busy.
const readinessPatience = 4 * time.Minute

// execute applies a graph, with the rights that pequod rbac generate gives to its account.
func execute(t *testing.T, c *harness.Cluster, name, nodes string) {
	t.Helper()
	graph := fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: %[1]s, namespace: %[2]s}
spec: {serviceAccountName: %[1]s, graph: {nodes: [%[3]s]}}
`, name, c.Namespace, nodes)
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+name+"}}")
	// The output has the roles and, on lines of their own, a summary for people.
	var roles strings.Builder
	for line := range strings.Lines(process.PequodIn(t, t.TempDir(), 0, "rbac", "generate", "-f", file)) {
		if !strings.HasPrefix(line, "pequod:") {
			roles.WriteString(line)
		}
	}
	c.Apply(t, roles.String())
	c.Apply(t, graph)
}

// awaitCondition waits until the condition Ready of a graph has a status, a reason, and a message with
// a text.
func awaitCondition(t *testing.T, c *harness.Cluster, name, status, reason, text string) {
	t.Helper()
	harness.Eventually(t, readinessPatience, func(context.Context) error {
		graph := c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", name)
		conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
		for _, condition := range conditions {
			condition := condition.(map[string]any)
			message, _ := condition["message"].(string)
			if condition["type"] == "Ready" && condition["status"] == status && condition["reason"] == reason && strings.Contains(message, text) {
				return nil
			}
		}
		return fmt.Errorf("want %s %s %q: %v", status, reason, text, graph.Object["status"])
	})
}

// checkFirstConsumer executes graphs with claims that are bound only when a Pod uses them. The
// accounts have no right to StorageClasses.
func checkFirstConsumer(t *testing.T, c *harness.Cluster, _ *process.Process) {
	class := c.Unique("late")
	c.Apply(t, fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %[1]s}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: %[1]s
  hostPath: {path: /data}
`, class))
	claim := func(name string) string {
		return fmt.Sprintf(`{id: claim, resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s},
  spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}}}`, name, class)
	}

	// Without a Pod, the claim is Pending for ever.
	execute(t, c, "unused", claim("unused"))
	awaitCondition(t, c, "unused", "True", "Completed", "1 object is ready; claim: exists, and gets its volume when a Pod that uses it starts (WaitForFirstConsumer)")
	if phase, _, _ := unstructured.NestedString(c.Get(t, "v1", "PersistentVolumeClaim", "unused").Object, "status", "phase"); phase != "Pending" {
		t.Errorf("the claim is %s", phase)
	}

	// The Deployment waits for the claim that it mounts.
	execute(t, c, "used", claim("used")+`, {id: app, dependencies: [claim], resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: used},
  spec: {selector: {matchLabels: {app: used}}, template: {metadata: {labels: {app: used}},
    spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: used}}], containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /data}]}]}}}}}`)
	awaitCondition(t, c, "used", "True", "Completed", "2 objects are ready")
	if phase, _, _ := unstructured.NestedString(c.Get(t, "v1", "PersistentVolumeClaim", "used").Object, "status", "phase"); phase != "Bound" {
		t.Errorf("the claim is %s", phase)
	}

	// Without the right to list Events, nothing is taken for ready. The message has the cure.
	c.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: blind}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: blind}
rules: [{apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get, list, create, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: blind}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: blind}
subjects: [{kind: ServiceAccount, name: blind, namespace: %s}]
---
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: blind}
spec: {serviceAccountName: blind, graph: {nodes: [%s]}}
`, c.Namespace, claim("blind")))
	awaitCondition(t, c, "blind", "Unknown", "Progressing", "is Pending, not Bound: if its StorageClass has WaitForFirstConsumer, add readyWhen: [{type: Exists}] to its node; the claim's Events would tell, but can't be listed: ")
	awaitCondition(t, c, "blind", "Unknown", "Progressing", "events is forbidden")
}

// checkDegraded executes a graph whose Pods can't start, and repairs it. The table that kubectl prints
// shows both.
func checkDegraded(t *testing.T, c *harness.Cluster, _ *process.Process) {
	nodes := func(image string) string {
		return fmt.Sprintf(`{id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: broken}}}, {id: app, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: broken},
  spec: {selector: {matchLabels: {app: broken}}, template: {metadata: {labels: {app: broken}}, spec: {containers: [{name: app, image: "%s"}]}}}}}`, image)
	}
	execute(t, c, "broken", nodes("example.com/app:missing"))
	awaitCondition(t, c, "broken", "False", "Degraded", "1 of 2 ready; app: ")
	graph := c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "broken")
	if phase, _, _ := unstructured.NestedString(graph.Object, "status", "nodeStates", "app", "phase"); phase != "Degraded" {
		t.Errorf("the node is %s", phase)
	}
	if got := row(t, c, "broken"); !strings.HasPrefix(got, "Name=broken Phase=Executing Ready=False Nodes=1/2 Reason=Degraded Age=") ||
		!strings.Contains(got, " Message=1 of 2 ready; app: ") {
		t.Error(got)
	}
	execute(t, c, "broken", nodes("app"))
	awaitCondition(t, c, "broken", "True", "Completed", "2 objects are ready")
	if got := row(t, c, "broken"); !strings.HasPrefix(got, "Name=broken Phase=Completed Ready=True Nodes=2/2 Reason=Completed Age=") {
		t.Error(got)
	}
}

// row returns the columns of a graph as kubectl get -o wide prints them.
func row(t *testing.T, c *harness.Cluster, name string) string {
	t.Helper()
	raw, err := c.Client.CoreV1().RESTClient().Get().AbsPath("/apis/platform.pequod.io/v1alpha1/namespaces/"+c.Namespace+"/resourcegraphs/"+name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	var cells []string
	for i, column := range table.ColumnDefinitions {
		cells = append(cells, fmt.Sprintf("%s=%v", column.Name, table.Rows[0].Cells[i]))
	}
	return strings.Join(cells, " ")
}
