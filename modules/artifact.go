package modules

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
)

// openArtifact opens the module in an artifact of a registry, a layout or an archive. It
// holds the files in memory.
func openArtifact(ctx context.Context, ref v1alpha1.CueRef, at Place, o Options) (*Files, error) {
	r, err := oci.ParseRef(ref.Ref)
	if err != nil {
		return nil, err
	}
	if r.Kind != oci.Registry && at.Tree != nil {
		return nil, fmt.Errorf("%s: a file on disk cannot be referenced from a git revision", r)
	}
	if r.Kind != oci.Registry && !filepath.IsAbs(r.File) {
		r.File = filepath.Join(at.BaseDir, r.File)
	}
	if r.Kind != oci.Registry {
		for _, dir := range []string{"", "blobs/sha256"} { // an archive is a file, and a layout has these directories
			if err := filling(o.Fill).path(filepath.Join(r.File, dir)); err != nil {
				return nil, err
			}
		}
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	img, err := client.Image(ctx, r)
	if err != nil {
		return nil, err
	}
	info, files, err := artifact.Open(img)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, oci.About(r, err)
	}
	version, err := versionOf(r, info)
	if err != nil {
		return nil, err
	}
	dir := path.Clean(cmp.Or(ref.Path, "."))
	if stat, err := fs.Stat(files, dir); err != nil || !stat.IsDir() {
		return nil, fmt.Errorf("%s: no directory %q in the module", r, ref.Path)
	}
	name := info.Name()
	if dir != "." {
		name = path.Base(dir)
	}
	return &Files{
		FS: files, Dir: dir, Name: name, Ref: r.String(), Version: version, Manifest: info.Digest,
		display: shownModule(r, info),
	}, nil
}

// versionOf returns the version of a module, which is its tag if that is a version. A
// tag whose major version is not that of the module is a mistake: CUE would not find the
// module.
func versionOf(r oci.Ref, info *artifact.Info) (string, error) {
	if !semver.IsValid(r.Tag) {
		return "", nil
	}
	if _, major, _ := strings.Cut(info.Path, "@"); semver.Major(r.Tag) != major {
		return "", fmt.Errorf("%s: the tag doesn't fit module %s", r, info.Path)
	}
	return r.Tag, nil
}

// shownModule returns the name of the root of a module in messages:
// PATH@VERSION, as in CUE's own cache, or with the tag or the beginning of the digest
// instead of the version.
func shownModule(r oci.Ref, info *artifact.Info) string {
	base, _, _ := strings.Cut(info.Path, "@")
	digest := strings.TrimPrefix(cmp.Or(r.Digest, info.Digest), "sha256:")
	return base + "@" + cmp.Or(r.Tag, digest[:12])
}
