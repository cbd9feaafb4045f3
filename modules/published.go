package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/modpath"
)

// errNotPublished is the error of published modules if nothing fetches them.
var errNotPublished = errors.New("modules from registries are not supported here")

// checkMinimum returns an error if the module needs a newer version of Pequod.
func (f *Files) checkMinimum(have string) error {
	data, err := fs.ReadFile(f.FS, cuemod.ModuleFile)
	if err != nil {
		return nil // the loader reports it
	}
	return artifact.CheckMinimum(data, have)
}

// openPublished opens a published module: a version, or the newest one of a major version.
func openPublished(ctx context.Context, ref v1alpha1.CueRef, published Published) (*Files, error) {
	v, err := modpath.ParseRef(ref.Ref)
	if err != nil {
		return nil, err
	}
	dir := path.Clean(ref.Path)
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("module %s: %q is not a directory of it", ref.Ref, ref.Path)
	}
	if published == nil {
		return nil, fmt.Errorf("module %s: %w", ref.Ref, errNotPublished)
	}
	if !v.IsCanonical() {
		if v, err = published.Latest(ctx, v.Path()); err != nil {
			return nil, fmt.Errorf("module %s: %w", ref.Ref, err)
		}
	}
	m, err := published.Open(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", v, err)
	}
	name := path.Base(path.Join(v.BasePath(), dir))
	return &Files{FS: m.Files, Dir: dir, Name: name, Ref: ref.Ref, Version: v.Version(), Manifest: m.Digest, display: v.String()}, nil
}
