// Command gen writes the rules of package forecast and docs/consequences.md from the
// measurements in test/consequences.
package main

import (
	"fmt"
	"os"

	"github.com/pequod-io/pequod/test/consequences"
)

func main() {
	if err := consequences.Write("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
