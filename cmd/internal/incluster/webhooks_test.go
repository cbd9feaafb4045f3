package incluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPodNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := podNamespace(file); got != DefaultNamespace {
		t.Errorf("outside of a Pod: %q", got)
	}
	if err := os.WriteFile(file, []byte("platforms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := podNamespace(file); got != "platforms" {
		t.Errorf("in a Pod: %q", got)
	}
}
