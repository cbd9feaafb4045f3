package child

import (
	"context"
	"encoding/json"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// loadPlatform loads the platform of encoded sources. It takes a Transform whose module is
// embedded or inline.
func loadPlatform(ctx context.Context, sources []byte) (*render.Platform, error) {
	var t v1alpha1.Transform
	if err := json.Unmarshal(sources, &t); err != nil {
		return nil, err
	}
	files, err := modules.Open(ctx, t.Spec.CueRef, modules.Place{}, modules.Options{})
	if err != nil {
		return nil, err
	}
	m, err := render.Load(render.Source{FS: files.FS, Dir: files.Dir, Show: files.Show, Ref: files.Ref, Version: files.Version,
		Digest: files.Digest, Modules: files.Modules, Place: files.Place})
	if err != nil {
		return nil, err
	}
	return render.NewPlatform(t.Name, t.Spec, m)
}
