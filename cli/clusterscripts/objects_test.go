package clusterscripts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// reader returns the configuration of an account that may read all objects of the
// script's namespace, and nothing else.
func reader(t *testing.T, c *harness.Cluster) *rest.Config {
	config := c.ServiceAccount(t, c.Namespace, "reader")
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: `+c.Namespace+`}
`)
	return config
}

// read returns an object of the script's namespace, nil if it doesn't exist.
func read(t testing.TB, c *harness.Cluster, ts *testscript.TestScript, args []string) *unstructured.Unstructured {
	client := c.Await(t, args[0], args[1], "")
	obj, err := client.Get(t.Context(), args[2], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	ts.Check(err)
	return obj
}

// remove deletes an object: remove APIVERSION KIND NAME [NAMESPACE].
func remove(t testing.TB, c *harness.Cluster, ts *testscript.TestScript, args []string) {
	client := c.Await(t, args[0], args[1], strings.Join(args[3:], ""))
	ts.Check(client.Delete(t.Context(), args[2], metav1.DeleteOptions{}))
}

// appears waits until an object exists, or with ! until it is gone:
// appears APIVERSION KIND NAME.
func appears(t testing.TB, c *harness.Cluster, ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: appears APIVERSION KIND NAME")
	}
	// Kubernetes repeats a failed removal of a CRD after a minute.
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		live := read(t, c, ts, args)
		if (live != nil) != neg {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s %s: still not so: %v", args[1], args[2], live)
		}
	}
}

// some fails unless objects with the labels exist, or with ! if they exist:
// some APIVERSION KIND SELECTOR.
func some(t testing.TB, c *harness.Cluster, ts *testscript.TestScript, neg bool, args []string) {
	client := c.Await(t, args[0], args[1], "")
	list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: args[2]})
	ts.Check(err)
	if len(list.Items) == 0 != neg {
		ts.Fatalf("there are %d of %s with %s", len(list.Items), args[1], args[2])
	}
}

// field fails unless a field of an object has the value, or with ! if it has it:
// field APIVERSION KIND NAME PATH VALUE. Keys of the path are separated by ":".
func field(t testing.TB, c *harness.Cluster, ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: field APIVERSION KIND NAME PATH VALUE")
	}
	obj := read(t, c, ts, args)
	if obj == nil {
		ts.Fatalf("%s %s doesn't exist", args[1], args[2])
	}
	var value any = obj.Object
	for _, key := range strings.Split(args[3], ":") {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	if got := fmt.Sprint(value); (got == args[4]) == neg {
		ts.Fatalf("%s %s: %s is %s", args[1], args[2], args[3], got)
	}
}

// server controls the API server behind $PROXY: "down" and "up" break and restore the
// connection; "hangs" leaves writes of inventories unanswered until "answers", and
// "asked" waits until such a write has arrived: server down|up|hangs|asked|answers.
func server(t testing.TB, proxy *faults.Proxy, ts *testscript.TestScript, args []string) {
	switch strings.Join(args, " ") {
	case "down":
		ts.Check(proxy.Down())
	case "up":
		ts.Check(proxy.Up())
	case "hangs":
		proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Hang{}}})
	case "asked":
		harness.Eventually(t, time.Minute, func(context.Context) error {
			if len(proxy.Faults()) == 0 {
				return errors.New("nobody has asked")
			}
			return nil
		})
	case "answers":
		proxy.Inject()
	default:
		ts.Fatalf("usage: server down|up|hangs|asked|answers")
	}
}

// graph writes a ResourceGraph of ConfigMaps of the given size, in levels of 100:
// graph NAME COUNT BYTES FILE.
func graph(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: graph NAME COUNT BYTES FILE")
	}
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	size, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: %s}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: web}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
`, args[0])
	for i := range count {
		fmt.Fprintf(&b, "    - {id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}, data: {a: %s}}", i, args[0], i, strings.Repeat("x", size))
		if i >= 100 {
			fmt.Fprintf(&b, ", dependencies: [n%d]", i-100)
		}
		b.WriteString("}\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(b.String()), 0o600))
}
