// Package moduletest runs the test cases of a module. A case is a directory below the
// module's directory tests, with the files
//
//	instance.yaml   one or more instances, and either
//	graph.yaml      the ResourceGraphs that they must render to, or
//	error.txt       the problems that they must have, one per line
//
// [Open] loads a module with its cases (module.go), [Run] runs the cases of several
// modules (run.go, outcome.go), and [Module.Coverage] finds the parts of a module that
// no case reaches (coverage.go, point.go). [Report] prints the results (report.go).
//
// graph.yaml does not contain the module's digest, and error.txt does not contain the
// positions of rules, because both change with every edit of the module. Positions in
// the module are relative to the case, so that the goldens do not depend on the
// location of the module.
//
// Only [Result.Update] writes files, and only goldens.
package moduletest
