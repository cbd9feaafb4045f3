// Package earlygc lets the heap of a short-lived command grow before it is
// collected. Evaluating CUE makes much garbage from little that lives, so the
// collector would take half of the time.
//
// Go initialises packages in the order of their import paths, dependencies
// first. This one has no dependencies but the standard library and comes before
// k8s.io, whose initialisation allocates most of what a start allocates; that is
// why it is a package, and why it has an init.
package earlygc

import (
	"os"
	"runtime/debug"
)

// percent is how much the heap may grow over what lives, as GOGC counts it.
const percent = 400

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
