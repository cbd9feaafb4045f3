// Package ociimage makes OCI artifacts of bytes in memory.
//
// [New] is the entry point. Unlike the constructors of go-containerregistry, it adds
// nothing that a container image has and an artifact doesn't, such as a config with
// layer digests, and the caller knows every byte: the digest of an artifact is that of
// its manifest, and so depends on the order of the fields.
//
// The package knows neither registries nor the meaning of artifacts.
package ociimage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Artifact describes an artifact.
type Artifact struct {
	// Type is the type of the artifact as a whole. "" leaves it to the type of the
	// config.
	Type string
	// Config is the config, which most artifacts use only for its type. Its data must
	// be JSON.
	Config Blob
	// Layers are the contents, in order.
	Layers []Blob
	// Subject is the artifact that this one is about, such as the one that a signature
	// signs, or nil.
	Subject *v1.Descriptor
	// Annotations may be nil.
	Annotations map[string]string
}

// Blob is a config or a layer.
type Blob struct {
	MediaType types.MediaType
	Data      []byte
}

// EmptyJSON is the data of a config that is used only for its type.
const EmptyJSON = "{}"

// manifest has the fields of a manifest in the order of the specification, which CUE
// uses, too. The order of the library's type differs.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     types.MediaType   `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// descriptor describes a blob or a manifest.
type descriptor struct {
	MediaType types.MediaType `json:"mediaType"`
	Digest    string          `json:"digest"`
	Size      int64           `json:"size"`
}

// New returns an artifact. The same description gives the same digest.
func New(a Artifact) (v1.Image, error) {
	i := &image{config: a.Config.Data, blobs: map[v1.Hash]blob{}}
	m := manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: a.Type,
		Config: i.add(a.Config), Layers: []descriptor{}, Annotations: a.Annotations,
	}
	for _, l := range a.Layers {
		m.Layers = append(m.Layers, i.add(l))
	}
	if s := a.Subject; s != nil {
		m.Subject = &descriptor{s.MediaType, s.Digest.String(), s.Size}
	}
	var err error
	if i.raw, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(i)
}

// image is the core of an image in memory.
type image struct {
	raw    []byte
	config []byte
	blobs  map[v1.Hash]blob
}

// add adds a blob and returns its description.
func (i *image) add(b Blob) descriptor {
	h, size, _ := v1.SHA256(bytes.NewReader(b.Data)) // a reader of bytes doesn't fail
	i.blobs[h] = blob{Blob: b, digest: h}
	return descriptor{b.MediaType, h.String(), size}
}

func (i *image) RawManifest() ([]byte, error)        { return i.raw, nil }
func (i *image) RawConfigFile() ([]byte, error)      { return i.config, nil }
func (i *image) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (i *image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if b, ok := i.blobs[h]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("the manifest has no blob %s", h)
}

// blob is a blob with its digest. It implements partial.CompressedLayer.
type blob struct {
	Blob
	digest v1.Hash
}

func (b blob) Digest() (v1.Hash, error)            { return b.digest, nil }
func (b blob) Size() (int64, error)                { return int64(len(b.Data)), nil }
func (b blob) MediaType() (types.MediaType, error) { return b.Blob.MediaType, nil }

// Compressed returns the bytes of the blob as they are stored.
func (b blob) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(b.Data)), nil
}
