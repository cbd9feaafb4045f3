// Command pequod-applier executes ResourceGraphs in the cluster in which it runs.
// It links no CUE: pequod renders the graphs elsewhere.
//
//	pequod-applier --leader-elect --default-service-account=pequod
//
// runs one of several replicas. One of them is active at a time.
//
// flags.go defines and validates the flags, run.go handles what is common to
// programs (help, version, logging, signals, exit codes), and serve.go starts the
// controller of package applier/controller.
//
// Non-goals: this package has no logic about graphs, and no configuration other
// than flags.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
