package distribute

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/atomicfile"
	"github.com/pequod-io/pequod/modules/artifact"
)

// writeMetadata writes the kinds and images of the platforms in a directory into its module
// file, so that [checkMetadata] finds no fault. A file that is right already is not written.
func writeMetadata(ctx context.Context, env command.Env, flags *platform.Flags, dir string) error {
	name := filepath.Join(dir, "cue.mod", "module.cue")
	shown := filepath.ToSlash(name)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // packing reports that there is no module
	}
	if err != nil {
		return err
	}
	has, err := artifact.ReadMetadata(data)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", shown, err))
	}
	if has == nil {
		has = &artifact.Metadata{}
	}
	platforms, err := platformsIn(ctx, flags, dir)
	if err != nil {
		return err
	}
	images, err := imagesOf(ctx, flags, platforms)
	if err != nil {
		return err
	}
	images = slices.DeleteFunc(images, func(image string) bool { return slices.Contains(has.Images, image) })
	kinds := kindsOf(platforms)
	if slices.EqualFunc(sortedKinds(has.Kinds), kinds, equalKinds) {
		kinds = nil
	}
	if len(kinds)+len(images) == 0 {
		return nil
	}
	changed, err := artifact.SetMetadata(data, kinds, images)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", shown, err))
	}
	if err := atomicfile.Write(name, changed); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "wrote %s\n", shown)
	return nil
}
