// Command pequod-applier executes ResourceGraphs in the cluster in which it
// runs. It links no CUE: graphs are rendered elsewhere, by pequod.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
