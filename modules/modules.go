// Package modules finds the files of platform modules.
//
// [ParseRef] parses the reference that a user writes, such as ./shop,
// embedded:webservice, oci://ghcr.io/acme/web:v1.4.0, git::https://example.com/web.git,
// configmap:shop/web or example.com/web@v1. [Open] is the only door to the files: it returns them as an fs.FS
// that contains the module and nothing else. Every kind of source has a file of its own
// (embedded.go, path.go, tree.go, artifact.go, published.go, git.go, inlined.go), and imports.go opens
// the modules that a module imports. [Opener] opens each module once, for programs that
// need the same module several times.
//
// The package does not parse or evaluate CUE; package render does that.
package modules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
)

// ParseRef parses a module reference: embedded:NAME, configmap:NAMESPACE/NAME, a git repository in the form of
// [git.ParseRef], an artifact in one of the forms of [oci.ParseRef], the path of a
// published module with a version, such as example.com/shop@v1, or a directory.
func ParseRef(s string) (v1alpha1.CueRef, error) {
	if s == "" {
		return v1alpha1.CueRef{}, errors.New("empty module reference")
	}
	if name, ok := strings.CutPrefix(s, "embedded:"); ok {
		return v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}, nil
	}
	if name, ok := strings.CutPrefix(s, "configmap:"); ok {
		_, _, err := inline.ParseConfigMap(name)
		return v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: name}, err
	}
	if strings.HasPrefix(s, git.Prefix) {
		_, err := git.ParseRef(s)
		return v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: s}, err
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

// IsPath reports whether a reference in the form of [ParseRef] is a directory.
func IsPath(s string) bool {
	ref, err := ParseRef(s)
	return err == nil && ref.Type == v1alpha1.CueRefPath
}

// Open finds the module that ref refers to at a place.
//
// ctx bounds the time for opening; it does not bound later reads from the
// returned files. Errors of registries and git servers are an [oci.Error], whose cause is one
// of few.
func Open(ctx context.Context, ref v1alpha1.CueRef, at Place, o Options) (*Files, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := unsupportedFields(ref); err != nil {
		return nil, err
	}
	if o.Fetched == nil || !known(ref.Type) {
		return open(ctx, ref, at, o)
	}
	begin := time.Now()
	files, err := open(ctx, ref, at, o)
	o.Fetched(ref.Type, time.Since(begin), err)
	return files, err
}

// sourceTypes are the types of references.
var sourceTypes = []v1alpha1.CueRefType{
	v1alpha1.CueRefEmbedded, v1alpha1.CueRefOCI, v1alpha1.CueRefGit, v1alpha1.CueRefConfigMap, v1alpha1.CueRefInline, v1alpha1.CueRefPath,
}

// known reports whether Open knows a type of reference.
func known(source v1alpha1.CueRefType) bool { return slices.Contains(sourceTypes, source) }

// open is Open for references whose fields are supported.
func open(ctx context.Context, ref v1alpha1.CueRef, at Place, o Options) (*Files, error) {
	var files *Files
	var err error
	switch {
	case !known(ref.Type):
		var names []string
		for _, source := range sourceTypes {
			names = append(names, string(source))
		}
		err = fmt.Errorf("unknown module source %q; known: %s", ref.Type, strings.Join(names, ", "))
	case ref.Type == v1alpha1.CueRefEmbedded:
		files, err = openEmbedded(ref.Ref)
	case ref.Type == v1alpha1.CueRefInline:
		files, err = openInline(ref, at.Inline)
	case ref.Type == v1alpha1.CueRefConfigMap:
		files, err = openConfigMap(ctx, ref, at, o)
	case ref.Type == v1alpha1.CueRefOCI && modpath.IsRef(ref.Ref):
		files, err = openPublished(ctx, ref, o.Published)
	case ref.Type == v1alpha1.CueRefOCI:
		files, err = openArtifact(ctx, ref, at, o)
	case ref.Type == v1alpha1.CueRefGit:
		files, err = openGit(ctx, ref, o)
	case at.Tree != nil:
		files, err = at.Tree.open(ref, at.BaseDir)
	default:
		files, err = openPath(ref, at.BaseDir, o.Fill)
	}
	if err != nil {
		return nil, err
	}
	files.Digest = ref.Digest
	if err := files.checkMinimum(cmp.Or(o.Version, version.Program())); err != nil {
		return nil, fmt.Errorf("module %s %w", files.Ref, err)
	}
	if err := files.resolve(ctx, o.Published, o.Fill); err != nil {
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
