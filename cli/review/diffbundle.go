package review

import (
	"context"
	"fmt"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
)

// readTree reads the files of a bundle in a registry, a layout or an archive, or what
// [files.ReadTree] reads. A bundle must be signed as pequod.yaml demands. A reference to an artifact has a form that no path has.
func (o *diffOptions) readTree(ctx context.Context, arg string) ([]files.TreeFile, error) {
	if !oci.IsRef(arg) {
		return files.ReadTree(ctx, arg)
	}
	ref, err := oci.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	bundles, err := o.Bundles()
	if err != nil {
		return nil, err
	}
	img, err := bundles.Image(ctx, ref)
	if err != nil {
		return nil, err
	}
	packed, err := bundle.Files(img)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	var tree []files.TreeFile
	for _, f := range packed {
		if files.IsYAML(f.Name) && !files.IsToolConfig(f.Name) {
			tree = append(tree, files.TreeFile{Name: ref.String() + "/" + f.Name, Path: f.Name, Data: f.Data})
		}
	}
	return tree, nil
}
