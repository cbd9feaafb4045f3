// Command pequod-applier executes ResourceGraphs in the cluster in which it runs.
// It links no CUE: pequod renders the graphs elsewhere.
//
//	pequod-applier --leader-elect --default-service-account=pequod
//
// runs one of several replicas. One of them is active at a time.
//
// This file has the flags that only this program has; package incluster has those that
// all programs in a cluster have, and what is common to programs. serve.go starts the
// controller of package applier/controller.
//
// Non-goals: this package has no logic about graphs, and no configuration other
// than flags.
package main

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
)

// name is the name of the program.
const name = "pequod-applier"

// applier is the program.
var applier = incluster.Program{
	Name: name, About: "Execute ResourceGraphs in the cluster.",
	AddFlags: func(fs *pflag.FlagSet, s *incluster.Settings) {
		fs.StringVar(&s.Graphs.Namespace, "namespace", "", "execute only the graphs of this namespace; default: all namespaces")
		fs.StringVar(&s.Graphs.DefaultServiceAccount, "default-service-account", "pequod",
			"service account to impersonate for graphs that don't name one, in the namespace of the graph; if empty, every graph must name one")
		fs.IntVar(&s.Election.Shards, "shards", 1,
			"number of parts into which the replicas divide the graphs, each with a lease of its own; 1: one replica works at a time")
	},
	Serve: serve,
}

func main() { os.Exit(applier.Run(os.Args[1:], os.Stdout, os.Stderr)) }
