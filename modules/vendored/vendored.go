// Package vendored keeps the modules of pequod.lock in a directory of the repository, so
// that neither Pequod nor CUE needs a network or a cache.
//
// The directory is a cache tree of CUE: with CUE_CACHE_DIR set to it, cue finds the modules
// there (cuelang.org/go/mod/modcache). For example.com/web@v1.4.0 it has
//
//	mod/download/example.com/web/@v/v1.4.0.mod       cue.mod/module.cue
//	mod/download/example.com/web/@v/v1.4.0.zip       the archive of the artifact
//	mod/download/example.com/web/@v/v1.4.0.manifest  the manifest of the artifact
//	mod/extract/example.com/web@v1.4.0/              the files of the module
//
// The manifest is not CUE's. With it, the directory has every byte of the artifact that
// [Tree.Get] needs, by its digest. The content depends on the lock only.
//
// [Open] returns the directory for reading, [Tree.Check] compares it with the lock, and
// [Write] makes it equal to the lock. Nothing in the directory is trusted: each part of an
// artifact is compared with its digest, and the extracted files with the lock, when the
// module is used. The package fetches nothing.
package vendored

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/modules/lock"
)

// DirName is the name of the directory beside pequod.lock.
const DirName = "pequod.vendor"

// Repair is the cure at the end of errors about the directory, after a semicolon.
const Repair = "run 'pequod module vendor', and commit all of its files"

// ChangedError is a file or a module that is not the one that the lock names.
type ChangedError struct {
	// Name is the file, or the directory of the module.
	Name string
	// Got is its digest and Want the one that the lock demands.
	Got, Want string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was changed: it has %s, and %s is locked; %s", e.Name, e.Got, e.Want, Repair)
}

// MissingError reports that only a part of a module is there.
type MissingError struct{ Name string }

func (e *MissingError) Error() string { return e.Name + " is missing; " + Repair }

// entry is a module of the lock with its place in the directory.
type entry struct {
	lock.Module
	version module.Version
	// file is the name of its files below mod/download, without the extension.
	file string
	// extracted is the directory with its files.
	extracted string
}

// The extensions of the files of an entry.
const (
	manifestFile = ".manifest"
	moduleFile   = ".mod"
	archiveFile  = ".zip"
)

// entries returns the modules of a lock by their places, each once. An artifact whose tag is
// not a version gets one from its digest, so that it has a place. Revisions of git
// repositories are no artifacts: CUE could not find them.
func entries(f *lock.File) ([]entry, error) {
	versioned := map[string]bool{}
	for _, m := range f.Modules {
		versioned[m.Digest] = versioned[m.Digest] || m.Version != ""
	}
	all := map[string]entry{}
	for _, m := range f.Modules {
		if m.Commit != "" || m.Version == "" && versioned[m.Digest] {
			continue
		}
		e, err := place(m)
		if err != nil {
			return nil, err
		}
		if other, twice := all[e.file]; twice && other.Digest != e.Digest {
			return nil, fmt.Errorf("%s has two artifacts, %s (%s) and %s (%s); CUE's tree can have only one", e.version, other.Name(), other.Digest, e.Name(), e.Digest)
		}
		if _, twice := all[e.file]; !twice {
			all[e.file] = e
		}
	}
	var list []entry
	for _, e := range all {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.file, b.file) })
	return list, nil
}

// place returns the entry of a module. Upper case is escaped as in the cache of CUE.
func place(m lock.Module) (entry, error) {
	_, major, _ := strings.Cut(m.Path, "@")
	digest := strings.TrimPrefix(m.Digest, "sha256:")
	v, err := module.NewVersion(m.Path, cmp.Or(m.Version, major+".0.0-sha256-"+digest[:min(12, len(digest))]))
	if err != nil {
		return entry{}, err
	}
	name, err := module.EscapePath(v.BasePath())
	if err != nil {
		return entry{}, err
	}
	version, err := module.EscapeVersion(v.Version())
	return entry{m, v, path.Join(downloads, name, "@v", version), path.Join(extracts, name+"@"+version)}, err
}

// The directories of the tree.
const (
	modules   = "mod"
	downloads = modules + "/download"
	extracts  = modules + "/extract"
)
