// Package bundle packs manifests into an OCI artifact for GitOps tools.
//
// [New] makes a bundle from files in memory, and [Files] reads one back. A bundle has
// one layer, a tar of directories with manifests. Each directory has a
// kustomization.yaml that lists its manifests, and so has the root, which lists the
// directories. So a tool can apply all of a bundle or one directory.
//
// The layer has the type application/vnd.oci.image.layer.v1.tar+gzip, because this is
// the only one that both Flux (OCIRepository) and Argo CD (OCI source) read without
// configuration: Flux takes the first layer and unpacks it as tar+gzip, and Argo CD
// wants exactly one layer of this type.
//
// Bundles are deterministic: the same files and options give the same bytes, on every
// machine that has the same version of this program. Another version of Go may compress
// the layer to other bytes.
//
// The package doesn't render, and knows neither registries nor the content of manifests.
package bundle

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/internal/source/yamlout"
	"github.com/pequod-io/pequod/modules/archive"
)

const (
	// LayerType is the media type of the layer.
	LayerType = types.OCILayer
	// ConfigType is the media type of the config, an empty object. It tells a bundle
	// from other artifacts with a layer of the same type.
	ConfigType types.MediaType = "application/vnd.pequod.bundle.config.v1+json"
)

// Annotations of the manifest, as in the OCI image specification. Flux shows revision
// and source in the status of an OCIRepository, Argo CD in its user interface.
const (
	AnnotationCreated  = "org.opencontainers.image.created"
	AnnotationRevision = "org.opencontainers.image.revision"
	AnnotationSource   = "org.opencontainers.image.source"
)

// The limits of bundles that are read. A graph has at most 1 MiB, and a large
// repository some thousand graphs of a few KiB.
const (
	// maxPacked limits the layer, in bytes.
	maxPacked = 64 << 20
	// maxUnpacked limits the sum of the files, in bytes.
	maxUnpacked = 256 << 20
	// maxFiles limits the number of files.
	maxFiles = 50_000
)

// Kustomization is the name of the files that list manifests and directories.
const Kustomization = "kustomization.yaml"

// File is a file of a bundle. If it is given to [New], its name is relative to the directory
// of its part, else to the root of the bundle.
type File = archive.File

// Part is a directory of a bundle.
type Part struct {
	// Name is the name of the directory.
	Name string
	// Files are the manifests in the directory and below it, in any order.
	Files []File
}

// Options describe the origin of a bundle.
type Options struct {
	// Created is the time of the files, usually that of the commit they were
	// rendered from. The zero value is 1970-01-01, so that bundles without a commit
	// are reproducible, too.
	Created time.Time
	// Revision is the commit, such as main@sha1:HEX, or "".
	Revision string
	// Source is the address of the repository of the commit, or "".
	Source string
}

// New returns a bundle. The order of parts is the order in which kustomize emits
// their manifests. A part without files is left out. It is an error if there are no
// files at all, if two files have one name, and if a file would be [Kustomization].
func New(parts []Part, o Options) (v1.Image, error) {
	files, err := layout(parts)
	if err != nil {
		return nil, err
	}
	created := time.Unix(0, 0).UTC()
	if !o.Created.IsZero() {
		created = o.Created.UTC().Truncate(time.Second)
	}
	layer, err := archive.Pack(files, created)
	if err != nil {
		return nil, err
	}
	if len(layer) > maxPacked {
		return nil, fmt.Errorf("the bundle is larger than %d MiB", maxPacked>>20)
	}
	annotations := map[string]string{AnnotationCreated: created.Format(time.RFC3339)}
	for name, value := range map[string]string{AnnotationRevision: o.Revision, AnnotationSource: o.Source} {
		if value != "" {
			annotations[name] = value
		}
	}
	return ociimage.New(ociimage.Artifact{
		Config:      ociimage.Blob{MediaType: ConfigType, Data: []byte(ociimage.EmptyJSON)},
		Layers:      []ociimage.Blob{{MediaType: LayerType, Data: layer}},
		Annotations: annotations,
	})
}

// layout returns all files of a bundle, those that list others included.
func layout(parts []Part) ([]File, error) {
	var all []File
	var dirs []string
	for _, part := range parts {
		if len(part.Files) == 0 {
			continue
		}
		if strings.Contains(part.Name, "/") || part.Name == Kustomization || !archive.ValidName(part.Name) || slices.Contains(dirs, part.Name) {
			return nil, fmt.Errorf("%q is not the name of another directory of a bundle", part.Name)
		}
		dirs = append(dirs, part.Name)
		var names []string
		for _, f := range part.Files {
			if !archive.ValidName(f.Name) || path.Base(f.Name) == Kustomization {
				return nil, fmt.Errorf("%q is not the name of a manifest in a bundle", f.Name)
			}
			names = append(names, f.Name)
			all = append(all, File{Name: part.Name + "/" + f.Name, Data: f.Data})
		}
		slices.Sort(names)
		list, err := kustomization(names)
		if err != nil {
			return nil, err
		}
		all = append(all, File{Name: part.Name + "/" + Kustomization, Data: list})
	}
	if len(all) == 0 {
		return nil, errors.New("a bundle without files")
	}
	list, err := kustomization(dirs)
	if err != nil {
		return nil, err
	}
	return append(all, File{Name: Kustomization, Data: list}), nil
}

// kustomization returns a kustomization.yaml that lists files or directories.
func kustomization(resources []string) ([]byte, error) {
	return yamlout.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  resources,
	})
}

// NotBundleError is an artifact that is no bundle.
type NotBundleError struct {
	// Defect is the difference to a bundle.
	Defect string
}

func (e *NotBundleError) Error() string { return "not a bundle: " + e.Defect }

// defect returns a NotBundleError.
func defect(format string, args ...any) error {
	return &NotBundleError{Defect: fmt.Sprintf(format, args...)}
}

// Files returns the files of a bundle, those that list others included, sorted by name.
// Bundles of other tools are read as well if they have the layer that Flux and Argo CD
// read. Files returns a [NotBundleError] for all other artifacts, and for bundles with
// names that lead out of the bundle, links or other special files, or too much data.
func Files(img v1.Image) ([]File, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	if n := len(manifest.Layers); n != 1 {
		return nil, defect("it has %d layers, want 1", n)
	}
	layer := manifest.Layers[0]
	switch {
	case layer.MediaType != LayerType:
		return nil, defect("its layer has type %q, want %s", layer.MediaType, LayerType)
	case layer.Size > maxPacked:
		return nil, defect("its layer is larger than %d MiB", maxPacked>>20)
	}
	l, err := img.LayerByDigest(layer.Digest)
	if err != nil {
		return nil, err
	}
	compressed, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	files, err := archive.Unpack(compressed, archive.Options{Bytes: maxUnpacked, Files: maxFiles, Read: 2 * maxUnpacked})
	var refused *archive.DefectError
	switch {
	case errors.As(err, &refused):
		err = defect("%v", refused)
	case err != nil:
		err = defect("reading its layer: %v", err)
	}
	return files, errors.Join(err, compressed.Close())
}
