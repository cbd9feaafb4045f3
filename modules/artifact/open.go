package artifact

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
)

// Info describes the module of an artifact. Reading it does not need the archive.
type Info struct {
	// Path is the path of the module with its major version, such as
	// example.com/shop/web@v1.
	Path string
	// ModuleFile is cue.mod/module.cue.
	ModuleFile []byte
	// Digest is the digest of the manifest, as sha256:HEX.
	Digest string
	// Size is the size of the archive in bytes.
	Size int64
	// Commit and CommitTime are the commit that was published, or "".
	Commit, CommitTime string
	// Metadata is for catalogues. It is nil if the module file has none.
	Metadata *Metadata
}

// Name returns the last element of the module's path, without the major version.
func (i *Info) Name() string {
	path, _, _ := strings.Cut(i.Path, "@")
	return path[strings.LastIndex(path, "/")+1:]
}

// Inspect reads the module file of an artifact and checks that the artifact is a module.
// It does not read the archive.
func Inspect(img v1.Image) (*Info, error) {
	m, err := manifest(img)
	if err != nil {
		return nil, err
	}
	data, err := readLayer(img, m.Layers[1])
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(data, moduleFile)
	if err != nil {
		return nil, defect("%s", oneLine(err))
	}
	metadata, err := metadataOf(file)
	if err != nil {
		return nil, defect("%s", oneLine(err))
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	return &Info{
		Path: file.QualifiedModule(), ModuleFile: data, Digest: digest.String(), Size: m.Layers[0].Size,
		Commit: m.Annotations[vcsCommit], CommitTime: m.Annotations[vcsCommitTime], Metadata: metadata,
	}, nil
}

// manifest returns the manifest of a module, and an error for all other artifacts.
func manifest(img v1.Image) (*v1.Manifest, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	if m.Config.MediaType != configType {
		return nil, &NotModuleError{Type: describe(m)}
	}
	return m, checkLayers(m.Layers)
}

// checkLayers checks the descriptions of the two layers of a module.
func checkLayers(layers []v1.Descriptor) error {
	switch {
	case len(layers) != 2:
		return defect("%d layers, want 2", len(layers))
	case layers[0].MediaType != zipType:
		return defect("layer 1 has type %q, want %s", layers[0].MediaType, zipType)
	case layers[1].MediaType != moduleFileType && layers[1].ArtifactType != moduleFileType:
		return defect("layer 2 has type %q, want %s", layers[1].MediaType, moduleFileType)
	case layers[0].Size > maxZip:
		return tooLarge("the archive of the module", maxZip)
	case layers[1].Size > maxModuleFile:
		return tooLarge(moduleFile, maxModuleFile)
	}
	return nil
}

// readLayer returns the bytes of a layer, whose size was checked.
func readLayer(img v1.Image, desc v1.Descriptor) ([]byte, error) {
	l, err := img.LayerByDigest(desc.Digest)
	if err != nil {
		return nil, err
	}
	r, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	defer r.Close() // it is only read
	return readSized(r, desc.Size, desc.Size)
}

// readSized reads at most limit bytes. size is the number of bytes that are expected, at most
// limit, so that the buffer need not grow.
func readSized(r io.Reader, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(max(size, 0)) + bytes.MinRead) // ReadFrom wants space to find the end in
	_, err := b.ReadFrom(io.LimitReader(r, limit))
	return b.Bytes(), err
}

// Open returns the module of an artifact and its files. It checks the names and sizes of
// all files; nothing is written to disk. The archive is fetched beside the module file.
func Open(img v1.Image) (*Info, fs.FS, error) {
	m, err := manifest(img)
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	var group errgroup.Group
	group.Go(func() (err error) {
		data, err = readLayer(img, m.Layers[0])
		return err
	})
	info, err := Inspect(img)
	if zipErr := group.Wait(); err == nil {
		err = zipErr
	}
	if err != nil {
		return nil, nil, err
	}
	files, err := openZip(info, data)
	if err != nil {
		return nil, nil, err
	}
	return info, files, nil
}

// entrySignature begins each entry in the directory of a zip archive.
const entrySignature = "PK\x01\x02"

// openZip checks an archive and returns its files.
func openZip(info *Info, data []byte) (fs.FS, error) {
	// Package zip allocates hundreds of bytes for each entry. Counting their
	// signatures beforehand limits that.
	if bytes.Count(data, []byte(entrySignature)) > maxFiles {
		return nil, &LimitError{fmt.Sprintf("the module has more than %d files", maxFiles)}
	}
	path, _, _ := strings.Cut(info.Path, "@")
	z, file, _, err := modzip.CheckZip(module.Version{}, bytes.NewReader(data), int64(len(data)))
	var invalid modzip.FileErrorList
	switch {
	case errors.As(err, &invalid):
		return nil, defect("the archive has file %q: %v", invalid[0].Path, invalid[0].Err)
	case err != nil:
		return nil, defect("the archive: %s", oneLine(err))
	}
	var sum uint64
	for _, f := range z.File {
		if f.Mode()&fs.ModeType != 0 && !f.Mode().IsDir() {
			return nil, defect("the archive has file %q, which is a link or a device", f.Name)
		}
		if f.UncompressedSize64 > maxFile {
			return nil, tooLarge("file "+f.Name, maxFile)
		}
		if sum += f.UncompressedSize64; sum > maxUnpacked {
			return nil, tooLarge("the unpacked module", maxUnpacked)
		}
	}
	z.RegisterDecompressor(zip.Deflate, new(inflater).open)
	files := zipFS{z}
	inside, err := files.ReadFile(file.Name)
	if err != nil {
		return nil, defect("the archive: %s", oneLine(err))
	}
	if !bytes.Equal(inside, info.ModuleFile) {
		return nil, defect("%s in the archive of %s differs from layer 2", moduleFile, cmp.Or(path, "the module"))
	}
	return files, nil
}

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
