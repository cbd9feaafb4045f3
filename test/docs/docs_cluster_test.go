package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
)

// install installs the applier in a cluster and runs it.
func install(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "pequod"), "install")
	cmd.Env = environment("KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pequod install: %v\n%s", err, out)
	}
	runApplier(t, bin, c)
}

// runApplier runs the installed applier as a local process, with the access of
// its service account, until the test ends.
func runApplier(t *testing.T, bin string, c *harness.Cluster) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	applier := exec.Command(filepath.Join(bin, "pequod-applier"),
		"--kubeconfig="+c.WriteKubeconfig(t, c.ServiceAccount(t, "pequod-system", "pequod-applier")),
		"--leader-elect", "--leader-election-namespace=pequod-system", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	applier.Stderr = log
	if err := applier.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = applier.Process.Kill() // it may have ended
		_ = applier.Wait()         // by that
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name()) // to be shown if it is there
			t.Logf("log of the applier:\n%s", text)
		}
	})
}
