// Package modules finds the files of platform modules.
//
// [ParseRef] parses the reference that a user writes, such as ./shop,
// embedded:webservice, oci://ghcr.io/acme/web:v1.4.0 or example.com/web@v1. [Open] is
// the only door to the files: it returns them as an fs.FS that contains the module and
// nothing else. Every kind of source has a file of its own (embedded.go, path.go, tree.go,
// artifact.go, published.go), and imports.go opens the modules that a module imports.
// [Opener] opens each module once, for programs that need the same module several times.
//
// The package does not parse or evaluate CUE; package render does that.
package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
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
	// Digest is the digest of the reference, or "". Open does not compare it, because
	// only the loader knows which files are part of the module: see
	// [github.com/pequod-io/pequod/render.Source].
	Digest string
	// Modules are the other modules whose packages the package in Dir imports, directly
	// or not. It is nil if there is no module file, or one with mistakes.
	Modules *cuemod.Resolved

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

// Options configure [Open]. The zero value opens embedded modules, modules of
// registries with the user's credentials, and those of directories relative to the
// working directory.
//
// Open returns an error if an option is set that no source implements: credentials that
// nothing uses must not look as if they had been used.
type Options struct {
	// BaseDir is the directory that relative references to directories and files start
	// from: the directory of the file that contains the reference. "" is the working
	// directory, or the root of Tree.
	BaseDir string
	// Tree is the file system of references of type path. nil is the disk.
	Tree *Tree
	// Artifacts returns the client for modules of type oci. nil is a client with
	// default options.
	Artifacts func() (*oci.Client, error)
	// Published fetches published modules by their paths. nil fetches none.
	Published Published

	// CacheDir is the directory for downloaded modules. Not implemented.
	CacheDir string
	// Credentials is a file with registry credentials, in Docker's config.json
	// format. Not implemented.
	Credentials string
	// PullSecret is the name of a Secret with registry credentials. Not
	// implemented.
	PullSecret string
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

// unsupported returns an error if an option is set that no source implements.
func (o Options) unsupported() error {
	for _, option := range []struct{ name, value string }{
		{"CacheDir", o.CacheDir},
		{"Credentials", o.Credentials},
		{"PullSecret", o.PullSecret},
	} {
		if option.value != "" {
			return fmt.Errorf("module option %s is not supported", option.name)
		}
	}
	return nil
}

// UnsupportedError reports a known kind of source that [Open] cannot open yet.
type UnsupportedError struct{ Type v1alpha1.CueRefType }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("module source %q is not supported; oci, path and embedded are", e.Type)
}

// refPrefixes maps the prefixes of references to their source types. A
// reference without one of them is a path.
var refPrefixes = []struct {
	prefix     string
	sourceType v1alpha1.CueRefType
}{
	{"embedded:", v1alpha1.CueRefEmbedded},
	{"git::", v1alpha1.CueRefGit},
}

// ParseRef parses a module reference: embedded:NAME, git::ADDRESS, an artifact in one of
// the forms of [oci.ParseRef], the path of a published module with a version, such as
// example.com/shop@v1, or a directory. It accepts references that [Open] does not support.
func ParseRef(s string) (v1alpha1.CueRef, error) {
	if s == "" {
		return v1alpha1.CueRef{}, errors.New("empty module reference")
	}
	for _, p := range refPrefixes {
		if rest, ok := strings.CutPrefix(s, p.prefix); ok {
			if p.sourceType != v1alpha1.CueRefEmbedded {
				rest = s // the prefix is part of a git address
			}
			return v1alpha1.CueRef{Type: p.sourceType, Ref: rest}, nil
		}
	}
	if oci.IsRef(s) {
		_, err := oci.ParseRef(s)
		return v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: s}, err
	}
	if modpath.IsRef(s) {
		return v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: s}, nil
	}
	return v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: s}, nil
}

// Open finds the module that ref refers to. It returns an [UnsupportedError] for
// source types that are not implemented yet.
//
// ctx bounds the time for opening; it does not bound later reads from the
// returned files.
func Open(ctx context.Context, ref v1alpha1.CueRef, o Options) (*Files, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch ref.Type {
	case v1alpha1.CueRefEmbedded, v1alpha1.CueRefPath, v1alpha1.CueRefOCI:
	case v1alpha1.CueRefGit, v1alpha1.CueRefConfigMap, v1alpha1.CueRefInline:
		return nil, &UnsupportedError{ref.Type}
	default:
		return nil, fmt.Errorf("unknown module source %q; known: embedded, oci, git, configmap, inline, path", ref.Type)
	}
	if err := errors.Join(o.unsupported(), unsupportedFields(ref)); err != nil {
		return nil, err
	}
	var files *Files
	var err error
	switch {
	case ref.Type == v1alpha1.CueRefEmbedded:
		files, err = openEmbedded(ref.Ref)
	case ref.Type == v1alpha1.CueRefOCI && modpath.IsRef(ref.Ref):
		files, err = openPublished(ctx, ref, o.Published)
	case ref.Type == v1alpha1.CueRefOCI:
		files, err = openArtifact(ctx, ref, o)
	case o.Tree != nil:
		files, err = o.Tree.open(ref, o.BaseDir)
	default:
		files, err = openPath(ref, o.BaseDir)
	}
	if err != nil {
		return nil, err
	}
	files.Digest = ref.Digest
	if err := files.resolve(ctx, o.Published); err != nil {
		return nil, err
	}
	return files, nil
}

// unsupportedFields returns an error if a field of a reference is set that its type
// of source does not implement.
func unsupportedFields(ref v1alpha1.CueRef) error {
	switch {
	case ref.Verify != nil:
		return errors.New("verification of modules is not supported")
	case ref.PullSecretRef != nil:
		return errors.New("pull secrets of modules are not supported")
	case ref.Type == v1alpha1.CueRefEmbedded && ref.Path != "":
		return fmt.Errorf("embedded module %q has no path", ref.Ref)
	}
	return nil
}
