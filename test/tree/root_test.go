package tree

import (
	"path/filepath"
	"testing"
)

// TestRoot checks that the root of the checkout has no Go files: tests of the
// whole project live below test/.
func TestRoot(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Errorf("%s: move it to a package", file)
	}
}
