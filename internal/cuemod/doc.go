// Package cuemod finds the packages that CUE modules import, in the module itself, in
// its vendored packages, and in other modules.
//
// It follows the rules of CUE's own loader, which resolves imports of other modules
// only to files on disk:
//
//   - [List] is the build list: the versions of other modules that the module file of
//     the main module, the one that is loaded, selects for itself and for all modules
//     that it imports.
//   - [Finder] determines the module and the directory of an import path.
//   - [Walk] opens the modules of all packages that a package imports, directly or not.
//   - [Reach] returns the directories of all these packages.
//
// The package fetches nothing: callers supply the files of other modules. It is stricter
// than CUE in one point. CUE evaluates some modules whose dependencies aren't tidy, with
// versions that only a look into the module files of other modules shows. Here, each
// module that is imported must be listed in the main module's file, in a version that
// is not older than the one that other modules require, as after "cue mod tidy".
package cuemod
