package tree

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// writesYAML matches what libraries write YAML with.
var writesYAML = regexp.MustCompile(`\byaml\.(Marshal|NewEncoder)\(`)

// TestYAMLHasOneWriter checks that the product writes YAML with package yamlout, or with its Quoter: what libraries write
// isn't quoted so that every reader reads the same.
func TestYAMLHasOneWriter(t *testing.T) {
	eachFile(t, func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if writesYAML.Match(text) && filepath.Dir(file) != "internal/source/yamlout" && !bytes.Contains(text, []byte("yamlout.Quoter")) {
			t.Errorf("%s writes YAML; use package yamlout", file)
		}
	})
}
