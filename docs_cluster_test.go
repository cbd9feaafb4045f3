package pequod_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/clustertest"
)

// clusterSessions are documents whose commands talk to a cluster. They need
// kubectl, which isn't made from this module: where there is none, they are left
// out, and only the commands of pequod are known to be right.
var clusterSessions = []session{
	{doc: "docs/operations.md"},
}

func TestClusterDocs(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("no kubectl on the path")
	}
	bin := t.TempDir()
	buildAsMakeDoes(t, bin)
	for _, s := range clusterSessions {
		t.Run(s.doc, func(t *testing.T) {
			c := clustertest.StartOwn(t)
			s.env = []string{"KUBECONFIG=" + c.Kubeconfig}
			install(t, bin, c)
			s.runIn(t, bin)
		})
	}
}

// install puts the applier into a cluster, in which no container runs, and runs
// it beside.
func install(t *testing.T, bin string, c *clustertest.Cluster) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "pequod"), "install")
	cmd.Env = environment("KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pequod install: %v\n%s", err, out)
	}
	kubeconfig := c.WriteKubeconfig(t, c.ServiceAccount(t, "pequod-system", "pequod-applier"))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	applier := exec.Command(filepath.Join(bin, "pequod-applier"), "--kubeconfig="+kubeconfig,
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
