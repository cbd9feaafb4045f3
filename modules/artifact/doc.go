// Package artifact converts between directories and the artifacts in which CUE modules
// are published.
//
// [Pack] makes the artifact of a directory, [Inspect] reads what a catalogue shows of
// one, and [Open] its files. The format is CUE's own, byte for byte: what Pack makes
// has the digest that `cue mod publish` gives the same directory, and both read the
// artifacts of each other. An artifact has
//
//   - a config {} of type application/vnd.cue.module.v1+json,
//   - a zip archive of the files, with neither times nor permissions,
//   - the file cue.mod/module.cue, so that it can be read without the archive,
//   - annotations with the commit, if the module file has source: kind: "git".
//
// An artifact is input from strangers: it is checked and limited before it is used.
// The package doesn't evaluate modules and knows no registry.
package artifact

import "fmt"

// The types and annotations of the format, as in cuelang.org/go/mod/modregistry.
const (
	configType     = "application/vnd.cue.module.v1+json"
	zipType        = "application/zip"
	moduleFileType = "application/vnd.cue.modulefile.v1"

	vcsType       = "org.cuelang.vcs-type"
	vcsCommit     = "org.cuelang.vcs-commit"
	vcsCommitTime = "org.cuelang.vcs-commit-time"
)

// moduleFile is the path of the file that makes a directory a module.
const moduleFile = "cue.mod/module.cue"

// The limits of a module. Hand-written modules have some hundred KiB; the types of all
// of Kubernetes have 10 MiB in 2,000 files.
const (
	// maxZip limits the archive, in bytes.
	maxZip = 64 << 20
	// maxUnpacked limits the sum of the files, in bytes.
	maxUnpacked = 256 << 20
	// maxFiles limits the number of files.
	maxFiles = 10_000
	// maxFile limits one file, in bytes, as for modules on disk.
	maxFile = 8 << 20
	// maxModuleFile limits cue.mod/module.cue, in bytes. Catalogues read it for each
	// version of a module.
	maxModuleFile = 1 << 20
)

// LimitError is a module that exceeds a limit.
type LimitError struct{ Message string }

func (e *LimitError) Error() string { return e.Message }

// tooLarge returns a LimitError about a size in bytes. limit is a multiple of 1 MiB.
func tooLarge(what string, limit int64) error {
	return &LimitError{fmt.Sprintf("%s is larger than %d MiB", what, limit>>20)}
}

// NotModuleError is an artifact that is no module.
type NotModuleError struct {
	// Type names the artifact, such as "a Helm chart". It is "" if the artifact looks
	// like a module and has a defect.
	Type string
	// Defect describes the defect if Type is "".
	Defect string
}

func (e *NotModuleError) Error() string {
	if e.Type != "" {
		return "not a CUE module but " + e.Type
	}
	return "not a valid CUE module: " + e.Defect
}

// defect returns a NotModuleError for something that was meant to be a module.
func defect(format string, args ...any) error {
	return &NotModuleError{Defect: fmt.Sprintf(format, args...)}
}
