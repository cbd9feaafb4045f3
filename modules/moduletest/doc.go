// Package moduletest runs the cases of a module. A case is a directory below
// the module's tests, with
//
//	instance.yaml   one or more instances
//	graph.yaml      the ResourceGraphs that they must render to, or
//	error.txt       the problems that they must have, a line each
//
// [Open] finds a module and its cases, [Run] runs those of several modules, and
// [Module.Coverage] says what of a module no case reached. The module's digest
// isn't part of graph.yaml, nor the place of a broken rule part of error.txt:
// both change with every edit of the module. Places in the module are relative
// to the case, so that goldens are the same wherever the module lies.
//
// Only [Module.Update] writes, and only goldens.
package moduletest
