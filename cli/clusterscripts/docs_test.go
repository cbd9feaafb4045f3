package clusterscripts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/clustertest"
	"github.com/pequod-io/pequod/clustertest/docsession"
)

// TestApplyingDoc runs the commands of docs/applying.md on a cluster with an empty
// namespace "shop"; pequod and kubectl are this binary.
func TestApplyingDoc(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t)
	c.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
	t.Cleanup(func() {
		// What the document leaves there, for a test that is run again.
		_ = c.Client.CoreV1().ConfigMaps("shop").DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pequod", "kubectl"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PEQUOD_") {
			env = append(env, v)
		}
	}
	docsession.Run(t, docsession.Session{
		Doc: filepath.Join("..", "..", "docs", "applying.md"), Dir: t.TempDir(),
		Env: append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "KUBECONFIG="+c.Kubeconfig),
	})
}
