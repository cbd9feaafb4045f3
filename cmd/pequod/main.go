// Command pequod turns CUE platform modules into CRDs and instances into
// ResourceGraphs.
package main

import (
	"os"

	"github.com/pequod-io/pequod/cli"
	_ "github.com/pequod-io/pequod/cli/earlygc"
)

func main() { os.Exit(cli.Main()) }
