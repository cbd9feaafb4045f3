package modules

import (
	"context"
	"time"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
)

// Place is the origin of relative references. The zero value is the working directory.
type Place struct {
	// BaseDir is the directory that relative references to directories and files start
	// from: the directory of the file that contains the reference. "" is the working
	// directory, or the root of Tree.
	BaseDir string
	// Tree is the file system of references of type path. nil is the disk.
	Tree *Tree
	// Namespace is that of references of type configmap without one, or "".
	Namespace string
	// ConfigMaps are manifests beside the reference. It may be nil.
	ConfigMaps *inline.Manifests
	// Inline is the place of the files of a reference of type inline. It may be nil.
	Inline *inline.Origin
}

// Options are the ways to the modules that are not on disk. The zero value opens modules
// of registries and git repositories with the user's credentials, and no modules by their
// paths.
type Options struct {
	// Artifacts returns the reader for modules of type oci. nil is an [oci.Client] with
	// default options.
	Artifacts func() (oci.Artifacts, error)
	// Git returns the options for modules of type git. nil is the default options.
	Git func() (git.Options, error)
	// ConfigMaps finds ConfigMaps in a cluster. nil finds none.
	ConfigMaps inline.ConfigMaps
	// Version is the version of Pequod, for modules that need a newer one. "" is that of
	// the program.
	Version string
	// Published fetches published modules by their paths. nil fetches none.
	Published Published
	// Allowed returns an error if the modules of a git repository may not be used. ref is
	// the reference to one. Artifacts and Published decide about modules of registries.
	// nil allows all.
	Allowed func(ref, host, path string) error
	// Fill is called with the path of a file or directory on disk before it is read, and may write it. Its error is
	// that of the module. Several goroutines call it at once. nil reads the disk as it is.
	Fill func(path string) error
	// Fetched is called by any goroutine whenever a module was opened, or could not be, for
	// metrics. took is the time for the module and all that it imports, from wherever they
	// come: a registry, a server, the cache, the disk or the program. err is the error of Open,
	// or nil. An [Opener] opens a module once, so that later uses are not reported.
	// References that nothing is fetched for, such as those of unknown types, are not
	// reported, so source has few values. It may be nil.
	Fetched func(source v1alpha1.CueRefType, took time.Duration, err error)
}

// Published fetches published modules by their paths, as
// [github.com/pequod-io/pequod/modules/modpath.Client] does.
type Published interface {
	// Open returns a version of a module.
	Open(ctx context.Context, v module.Version) (*modpath.Module, error)
	// Latest returns the newest version of a module with a major version, such as
	// example.com/shop@v1.
	Latest(ctx context.Context, path string) (module.Version, error)
}

// client returns the reader of artifacts.
func (o Options) client() (oci.Artifacts, error) {
	if o.Artifacts != nil {
		return o.Artifacts()
	}
	return oci.New(oci.Options{})
}
