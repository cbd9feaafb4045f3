package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// TestBlock checks that the text of a literal block scalar is found in its file, and that
// placed text has the lines and columns of the file.
func TestBlock(t *testing.T) {
	const file = "# comment\n---\na: 1\n---\nfiles:\n- text: |\n\n    one\n      two\n\n    three\n- text: \"one\\ntwo\"\n- text: >\n    one\n\n    two\n- text: |2\n     three spaces\n- text: &x |-\n    x\n- text: *x\nlast: |+\n  end\n\n"
	docs, err := yamlfile.Parse("x.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	doc := docs[1]
	var value struct {
		Files []struct{ Text string }
		Last  string
	}
	if err := doc.Decode(&value); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(file, "\n")
	for _, test := range []struct {
		path, text string
		want       bool
	}{
		{"files 0 text", value.Files[0].Text, true},
		{"files 1 text", value.Files[1].Text, false},
		{"files 2 text", value.Files[2].Text, false},
		{"files 3 text", value.Files[3].Text, true},
		{"files 4 text", value.Files[4].Text, true},
		{"files 5 text", value.Files[5].Text, false},
		{"files 9 text", "", false},
		{"files 0 none", "", false},
		{"last", value.Last, true},
	} {
		block, ok := doc.Block(strings.Fields(test.path))
		if ok != test.want {
			t.Errorf("%s: %v, %v", test.path, block, ok)
		}
		if !ok {
			continue
		}
		placed := strings.Split(strings.TrimSuffix(string(block.Place([]byte(test.text))), "\n"), "\n")
		for i := block.Line - 1; i < len(placed); i++ {
			if strings.TrimSpace(placed[i]) != "" && placed[i] != lines[i] {
				t.Errorf("%s: line %d is %q, in the file %q", test.path, i+1, placed[i], lines[i])
			}
		}
		if len(placed) < block.Line || block.File != "x.yaml" {
			t.Errorf("%s: %v, %q", test.path, block, placed)
		}
	}
}
