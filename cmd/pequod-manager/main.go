// Command pequod-manager runs the operator mode of Pequod: it generates the kinds of
// Transforms, renders the instances of these kinds, and executes the graphs that result.
//
//	pequod-manager --leader-elect
//
// runs one of several replicas. One of them is active at a time.
//
// CUE is evaluated by child processes only, which run this program as "pequod-manager
// worker". The program itself evaluates none: an evaluation can neither be interrupted nor
// bounded in its memory.
//
// flags.go has the flags that only this program has; package incluster has those that all
// programs in a cluster have. serve.go starts the controllers. cache.go has the variables of
// the cache of modules.
//
// Non-goals: this package has no logic about Transforms, instances or graphs.
package main

import (
	"os"
	"slices"

	"github.com/pequod-io/pequod/operator/worker/child"
)

func main() {
	// No help mentions this argument, which is for the manager itself.
	if slices.Equal(os.Args[1:], []string{"worker"}) {
		os.Exit(child.Serve(os.Stdin, os.Stdout))
	}
	os.Exit(new(options).program().Run(os.Args[1:], os.Stdout, os.Stderr))
}
