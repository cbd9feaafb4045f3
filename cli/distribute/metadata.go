package distribute

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/render"
)

// metadataError is metadata in a module file that says otherwise than the module.
type metadataError struct {
	file string
	// lines are the right fields instead of those that are wrong. With commas between them
	// they are CUE, on the only line that an error has.
	lines []string
}

func (e *metadataError) Error() string {
	return fmt.Sprintf("%s: custom: \"pequod.io@v0\" says otherwise than the module; write %s", e.file, strings.Join(e.lines, ", "))
}

// checkMetadata compares the metadata in the module file of a directory with the
// platforms in it. The author can leave fields out, and list images that no sample has.
// Nothing is evaluated if there is no metadata about the content. The error is a
// [metadataError] if the module is otherwise.
func checkMetadata(ctx context.Context, flags *platform.Flags, dir string, m *artifact.Metadata) error {
	if m == nil || len(m.Kinds)+len(m.Images) == 0 {
		return nil
	}
	platforms, err := platformsIn(ctx, flags, dir)
	if err != nil {
		return err
	}
	wrong := &metadataError{file: filepath.ToSlash(filepath.Join(dir, "cue.mod", "module.cue"))}
	if kinds := kindsOf(platforms); len(m.Kinds) > 0 && !slices.EqualFunc(sortedKinds(m.Kinds), kinds, equalKinds) {
		wrong.lines = append(wrong.lines, "kinds: "+artifact.KindsList(kinds))
	}
	if len(m.Images) > 0 {
		images, err := imagesOf(ctx, flags, platforms)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(images, func(image string) bool { return !slices.Contains(m.Images, image) }) {
			wrong.lines = append(wrong.lines, "images: "+artifact.TextList(images))
		}
	}
	if len(wrong.lines) > 0 {
		return wrong
	}
	return nil
}

// platformsIn loads the platforms of the module in a directory: all packages that define
// #Render.
func platformsIn(ctx context.Context, flags *platform.Flags, dir string) ([]*render.Platform, error) {
	flags.Platforms = nil
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != dir && (d.Name() == "cue.mod" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return fs.SkipDir
		case d.IsDir() && name != dir:
			if _, err := os.Stat(filepath.Join(name, "cue.mod")); err == nil {
				return fs.SkipDir // another module
			}
		case filepath.Ext(name) == ".cue" && definesRender(name):
			if in := filepath.Dir(name); !slices.Contains(flags.Platforms, in) {
				flags.Platforms = append(flags.Platforms, in)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, p := range flags.Platforms {
		if !filepath.IsAbs(p) {
			flags.Platforms[i] = "." + string(filepath.Separator) + p // else it could be another type of reference
		}
	}
	catalog, err := flags.LoadPlatforms(ctx)
	if err != nil {
		return nil, err
	}
	return catalog.Given, nil
}

// definesRender reports whether a file has the field #Render at its top. Mistakes are
// reported when the package is loaded.
func definesRender(name string) bool {
	file, _ := parser.ParseFile(name, nil)
	return file != nil && slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.Field)
		if !ok {
			return false
		}
		label, _, err := ast.LabelName(f.Label)
		return err == nil && label == "#Render"
	})
}

// kindsOf returns the kinds of platforms, sorted.
func kindsOf(platforms []*render.Platform) []artifact.Kind {
	var kinds []artifact.Kind
	for _, p := range platforms {
		versions := []string{p.Version}
		for _, v := range p.Versions {
			if v.Name != p.Version {
				versions = append(versions, v.Name)
			}
		}
		kinds = append(kinds, artifact.Kind{Group: p.Group, Kind: p.Kind, Versions: versions})
	}
	return sortedKinds(kinds)
}

// sortedKinds returns kinds by group and kind.
func sortedKinds(kinds []artifact.Kind) []artifact.Kind {
	return slices.SortedFunc(slices.Values(kinds), func(a, b artifact.Kind) int {
		return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind)
	})
}

// equalKinds reports whether two kinds are the same. The order of versions matters only
// for the first one, which is stored.
func equalKinds(a, b artifact.Kind) bool {
	return a.Group == b.Group && a.Kind == b.Kind && len(a.Versions) > 0 && a.Versions[0] == b.Versions[0] &&
		slices.Equal(slices.Sorted(slices.Values(a.Versions)), slices.Sorted(slices.Values(b.Versions)))
}

// imagesOf returns the images that platforms choose themselves, sorted.
func imagesOf(ctx context.Context, flags *platform.Flags, platforms []*render.Platform) ([]string, error) {
	var all []string
	for _, p := range platforms {
		images, err := vet.Images(ctx, p, flags.Limits())
		if err != nil {
			return nil, err
		}
		all = append(all, images...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// isMetadataError reports whether an error is about wrong metadata.
func isMetadataError(err error) bool { return errors.As(err, new(*metadataError)) }
