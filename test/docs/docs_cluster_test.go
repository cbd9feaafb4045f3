package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/server"
)

// install installs the applier in a cluster and runs it.
func install(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "pequod"), "install")
	// Only an administrator may install it.
	cmd.Env = environment("KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pequod install: %v\n%s", err, out)
	}
	runApplier(t, bin, c)
}

// runApplier runs the applier as it is installed, until the test ends.
func runApplier(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	runInstalled(t, filepath.Join(bin, "pequod-applier"), c, "pequod-applier")
}

// runInstalled runs the program of an installed Deployment as a local process, as the Deployment does,
// until the test ends.
func runInstalled(t *testing.T, program string, c *harness.Cluster, deployment string) {
	t.Helper()
	// An administrator reads what is installed.
	deployed, err := server.ReadDeployed(t.Context(), c.Config, "pequod-system", deployment)
	if err != nil {
		t.Fatal(err)
	}
	access := c.ServiceAccount(t, deployed.Namespace, deployed.Account)
	runProgram(t, deployed.Command(program, c.WriteKubeconfig(t, access), t.TempDir(), "--metrics-bind-address=0", "--health-probe-bind-address=0"))
}

// runManager installs the manager and runs it as a local process, with the access of its
// service account, until the test ends. The platform webservice is ready when it returns.
func runManager(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	install := exec.Command(filepath.Join(bin, "pequod"), "install", "--mode=operator")
	// Only an administrator may install it.
	install.Env = environment("KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", install, err, out)
	}
	startManager(t, bin, c)
	c.Apply(t, `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: webservice, namespace: pequod-system}
spec:
  cueRef: {type: embedded, ref: webservice}
`)
	transforms := c.Await(t, "platform.pequod.io/v1alpha1", "Transform", "pequod-system")
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		transform, err := transforms.Get(ctx, "webservice", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(transform.Object, "status", "phase"); phase != "Ready" {
			return fmt.Errorf("the Transform is %s: %v", phase, transform.Object["status"])
		}
		// kubectl explain reads the schema, which is served some seconds after the kind.
		return c.Client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/pequod.io/v1alpha1").Do(ctx).Error()
	})
}

// startManager runs the installed manager in the same way as runApplier.
func startManager(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	runInstalled(t, filepath.Join(bin, "pequod-manager"), c, "pequod-controller-manager")
}

// runProgram runs a program until the test ends, and logs its output if the test failed.
func runProgram(t *testing.T, program *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	program.Stderr = log
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill() // it may have ended
		_ = program.Wait()         // by that
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name()) // to be shown if it is there
			t.Logf("log of %s:\n%s", filepath.Base(program.Path), text)
		}
	})
}
