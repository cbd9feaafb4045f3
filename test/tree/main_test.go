// Package tree holds the rules of the source tree: which packages may import
// which, and how files inside a package may depend on each other. It holds
// tests only.
package tree

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the checkout the working directory of the tests.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
