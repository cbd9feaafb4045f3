package clusterscripts_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
)

// TestRequests checks the number of requests that commands send, and the user agent
// of each request.
func TestRequests(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	kubeconfig := c.WriteKubeconfig(t, proxy.Config(c.Config))
	const count = 200
	var b strings.Builder
	b.WriteString(`apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: web}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
`)
	for i := range count / 2 {
		fmt.Fprintf(&b, "    - {id: c%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}}\n", i, i)
		fmt.Fprintf(&b, "    - {id: a%d, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: a%d}}, dependencies: [c%d]}\n", i, i, i)
	}
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// run returns the requests without discovery, and the number of writes.
	run := func(args ...string) (requests, writes int) {
		t.Helper()
		proxy.Reset()
		var said bytes.Buffer
		cmd := &exec.Cmd{
			Path: os.Args[0], Args: append([]string{"pequod"}, args...), Dir: t.TempDir(), Stdout: &said, Stderr: &said,
			Env: append(os.Environ(), "KUBECONFIG="+kubeconfig, "PEQUOD_NAMESPACE="+c.Namespace),
		}
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said.String())
		}
		for _, r := range proxy.Requests() {
			if !strings.HasPrefix(r.UserAgent, "pequod/") {
				t.Errorf("%s %s by %q", r.Verb, r.Resource, r.UserAgent)
			}
			if !r.Discovery() {
				requests++
			}
			if r.Write() {
				writes++
			}
		}
		return requests, writes
	}
	for _, step := range []struct {
		args             []string
		requests, writes int
	}{
		{[]string{"apply", "-f", file}, 2 * count, count + 3}, // the record is written besides
		{[]string{"apply", "-f", file}, 40, 0},
		{[]string{"diff", "-f", file}, 40, 0},
		{[]string{"status", "-f", file}, 40, 0},
	} {
		requests, writes := run(step.args...)
		t.Logf("%s: %d requests, %d of them write", step.args[0], requests, writes)
		if requests > step.requests || writes > step.writes || requests == 0 {
			t.Errorf("%s: %d requests, %d of them write; want at most %d and %d", step.args[0], requests, writes, step.requests, step.writes)
		}
	}
	if n := len(proxy.Faults()); n > 0 {
		t.Errorf("%d faults", n)
	}
}
