package modules

import (
	"io/fs"
	"path"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// Files is an opened module. It holds no resources of the operating system, so
// there is nothing to close, and any number of goroutines may use it.
type Files struct {
	// FS is the module: its root is the module's root, and no name leads out of
	// it. It also implements the interfaces that CUE's loader needs, such as
	// fs.ReadFileFS and fs.ReadDirFS.
	FS fs.FS
	// Dir is the directory of the package in FS, slash-separated.
	Dir string
	// Name is the module's default name: the name of its directory, the name of the
	// embedded module, or the last element of the path of a published module.
	Name string
	// Ref is the reference in the form in which a user writes it.
	Ref string
	// Version is the module's version, or "" for sources without versions.
	Version string
	// Commit is the full name of the git commit, or "" for other sources.
	Commit string
	// Manifest is the digest of the manifest of a module in an artifact, or "".
	Manifest string
	// Digest is the digest of the reference, or "". Open does not compare it, because
	// only the loader knows which files are part of the module: see
	// [github.com/pequod-io/pequod/render.Source].
	Digest string
	// Modules are the other modules whose packages the package in Dir imports, directly
	// or not. It is nil if there is no module file, or one with mistakes.
	Modules *cuemod.Resolved

	// Place returns the lines of a YAML file that a file consists of, by the name that Show
	// returns. It is nil for modules that are not in such a file.
	Place func(shown string) (yamlfile.Block, bool)

	// display is the user's name for the root of FS; "" and "." mean that names
	// in FS are shown as they are.
	display string
	// show replaces display for modules in a [Tree], or is nil.
	show func(file string) string
	// rootDir is the root on disk, or "" for modules that are not there.
	rootDir string
}

// Show returns the name by which the user knows a file of FS. file is
// slash-separated.
func (f *Files) Show(file string) string {
	if f.show != nil {
		return f.show(file)
	}
	return path.Join(f.display, file)
}
