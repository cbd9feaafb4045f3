// Package earlygc makes the garbage collector of a short-lived command run less
// often. The evaluation of CUE creates a lot of garbage and keeps little of it, so
// with Go's default the collector would take half of the CPU time. It also turns off
// the sampling of allocations for heap profiles, which no command writes. Import the
// package for its side effect.
//
// It is a package with an init function because of the order of initialization: Go
// initializes packages in the order of their import paths, dependencies first. This
// package depends only on the standard library and is initialized before k8s.io,
// which allocates most of the memory that a start allocates.
package earlygc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent is the growth of the heap over the live data that triggers a collection,
// in the unit of GOGC. The user's GOGC wins. The runtime applies it to at least 4 MiB,
// so the first collection is due at 24 MiB. Most commands for one instance or platform
// end before that.
const percent = 600

func init() {
	runtime.MemProfileRate = 0
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
