package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/mod/semver"
)

// Pack returns the artifact of the module in dir, the directory of cue.mod, as the given
// version. If the module file has source: kind: "self", the artifact has the files in
// dir; if it has "git", the files that are committed, and nothing else may be there.
//
// As in CUE, links, directories of version control systems and other modules below dir
// are left out. The same files make the same bytes on every machine.
func Pack(ctx context.Context, dir, version string) (v1.Image, *Info, error) {
	data, file, err := readModuleFile(dir)
	if err != nil {
		return nil, nil, err
	}
	mv, err := moduleVersion(file, version)
	if err != nil {
		return nil, nil, err
	}
	zip, annotations, err := pack(ctx, dir, file, mv)
	if err != nil {
		return nil, nil, err
	}
	img, err := newImage(zip, data, annotations)
	if err != nil {
		return nil, nil, err
	}
	// A reader must be able to open what was packed.
	info, _, err := Open(img)
	return img, info, err
}

// readModuleFile reads and parses the module file of the module in dir.
func readModuleFile(dir string) ([]byte, *modfile.File, error) {
	name := filepath.Join(dir, filepath.FromSlash(moduleFile))
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: not the root of a module: no file %s", dir, moduleFile)
	} else if err != nil {
		return nil, nil, err
	}
	file, err := modfile.Parse(data, name)
	return data, file, err
}

// moduleVersion returns the path and version of a module. Versions are canonical, such
// as v1.4.0: the tags of modules are, and v1.4 could be any v1.4.x.
func moduleVersion(file *modfile.File, version string) (module.Version, error) {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return module.Version{}, fmt.Errorf("%q is not a version: want one like v1.4.0", version)
	}
	if major := file.MajorVersion(); major != semver.Major(version) {
		return module.Version{}, fmt.Errorf("version %s does not fit module %s, which has versions %s.x.y", version, file.QualifiedModule(), major)
	}
	return module.NewVersion(file.QualifiedModule(), version)
}

// pack returns the archive of the module in dir, and the annotations of its artifact.
func pack(ctx context.Context, dir string, file *modfile.File, mv module.Version) ([]byte, map[string]string, error) {
	if file.Source == nil {
		return nil, nil, fmt.Errorf("%s: add source: kind: \"self\" to publish the files of the directory, or \"git\" to publish the committed files",
			filepath.Join(dir, filepath.FromSlash(moduleFile)))
	}
	zip := &limitedBuffer{limit: maxZip}
	if file.Source.Kind == "self" {
		err := modzip.CreateFromDir(zip, mv, dir)
		return zip.Bytes(), nil, explainZip(dir, err)
	}
	work, err := committed(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	//lint:ignore SA1019 cue mod publish makes its archives with it, and the bytes must be equal
	err = modzip.Create(zip, mv, work.files, committedFiles{})
	return zip.Bytes(), work.annotations, explainZip(dir, err)
}

// limitedBuffer is a buffer that refuses to grow beyond limit bytes.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, tooLarge("the archive of the module", int64(b.limit))
	}
	return b.Buffer.Write(p)
}

// explainZip returns an error of modzip in one line.
func explainZip(dir string, err error) error {
	var limit *LimitError
	var files modzip.FileErrorList
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		return fmt.Errorf("%s: %w", dir, limit)
	case errors.As(err, &files) && len(files) > 1:
		return fmt.Errorf("%s: %w, and %d more files", dir, files[0], len(files)-1)
	case errors.As(err, &files):
		return fmt.Errorf("%s: %w", dir, files[0])
	}
	return err
}
