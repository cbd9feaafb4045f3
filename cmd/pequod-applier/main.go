// Command pequod-applier executes ResourceGraphs in the cluster in which it
// runs. It links no CUE: pequod renders the graphs elsewhere.
//
// flags.go defines and validates the flags, run.go handles what is common to
// programs (help, version, logging, signals, exit codes), and serve.go starts the
// controller of package applier/controller.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
