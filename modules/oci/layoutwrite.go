package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/internal/atomicfile"
)

// layoutVersion is the content of the file oci-layout.
const layoutVersion = `{"imageLayoutVersion":"1.0.0"}`

// write implements place. The index is replaced last and as a whole, so a reader never
// finds half an artifact.
func (d directory) write(_ context.Context, ref Ref, img v1.Image) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	index, err := readIndex(d)
	if errors.Is(err, fs.ErrNotExist) {
		if err := onlyOurs(string(d)); err != nil {
			return err
		}
		index = &v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	} else if err != nil {
		return err
	}
	if err := ggcrlayout.Path(d).WriteImage(img); err != nil {
		return err
	}
	desc, err := partial.Descriptor(img)
	if err != nil {
		return err
	}
	if ref.Tag != "" {
		desc.Annotations = map[string]string{refName: ref.Tag}
	}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(m v1.Descriptor) bool {
		return m.Annotations[refName] == ref.Tag && (ref.Tag != "" || m.Digest == desc.Digest)
	})
	index.Manifests = append(index.Manifests, *desc)
	slices.SortStableFunc(index.Manifests, func(a, b v1.Descriptor) int {
		return cmp.Or(CompareVersions(a.Annotations[refName], b.Annotations[refName]), strings.Compare(a.Digest.Hex, b.Digest.Hex))
	})
	raw, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(string(d), "oci-layout"), []byte(layoutVersion)); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(string(d), "index.json"), append(raw, '\n'))
}

// onlyOurs returns an error if a directory that is to become a layout has other files.
func onlyOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "blobs" && e.Name() != "oci-layout" {
			return &Error{Cause: WrongType, Message: "the directory is not empty and not an OCI layout", Hint: "name another directory"}
		}
	}
	return nil
}

// write implements place. It writes a new archive with the artifacts of the old one and
// the new one, and replaces the old one.
func (a archive) write(ctx context.Context, ref Ref, img v1.Image) error {
	file := string(a)
	dir, err := os.MkdirTemp(filepath.Dir(file), ".oci-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // nothing in it is needed any more
	layoutDir := filepath.Join(dir, "layout")
	if err := a.copyTo(ctx, layoutDir); err != nil {
		return err
	}
	if err := directory(layoutDir).write(ctx, ref, img); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "tar"))
	if err != nil {
		return err
	}
	if err := errors.Join(writeTar(f, layoutDir), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// copyTo writes the artifacts of an archive to a layout. There is nothing to do if the
// archive does not exist.
func (a archive) copyTo(ctx context.Context, dir string) error {
	index, err := readIndex(a)
	if _, statErr := os.Stat(string(a)); errors.Is(statErr, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	c, err := New(Options{})
	if err != nil {
		return err
	}
	for _, m := range index.Manifests {
		ref := Ref{Kind: Archive, File: string(a), Tag: m.Annotations[refName], Digest: m.Digest.String()}
		img, err := c.Image(ctx, ref)
		if err != nil {
			return err
		}
		if err := directory(dir).write(ctx, ref, img); err != nil {
			return err
		}
	}
	return nil
}
