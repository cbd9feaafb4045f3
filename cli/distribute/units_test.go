package distribute

import (
	"bytes"
	"testing"
)

// TestUnits leaves out the files of a hostile bundle that would take gigabytes to parse.
func TestUnits(t *testing.T) {
	t.Parallel()
	object := []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	all := units(map[string][]byte{"a.yaml": object, "b.yaml": bytes.Repeat([]byte("- a\n"), maxMarks/2), "c.yaml": object})
	if len(all) != 1 {
		t.Errorf("%d units", len(all))
	}
	if all := units(map[string][]byte{"a.yaml": object, "c.yaml": object}); len(all) != 2 {
		t.Errorf("%d units without it", len(all))
	}
}
