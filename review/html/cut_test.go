package html

import (
	"strings"
	"testing"
)

// A cut inside a character drops the whole character, which then counts as missing.
func TestCutInsideCharacter(t *testing.T) {
	kept := "x" + strings.Repeat("é", 999)
	if got, want := cutText(kept+"éé"), kept+"… (4 more bytes)"; got != want {
		t.Errorf("got the end %q, want %q", got[len(got)-30:], want[len(want)-30:])
	}
}
