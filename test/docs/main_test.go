// Package docs runs the documents of the project: every command that README.md
// and docs/ show, every sample, and every link. It holds tests only.
package docs

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the checkout the working directory, so that tests name files
// as the documents do.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
