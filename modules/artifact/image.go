package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// emptyConfig is the config of every module artifact.
const emptyConfig = "{}"

// manifest has the fields that CUE writes, in its order: the digest of an artifact is
// that of these bytes. The library's type has another order.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     types.MediaType   `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// descriptor describes a blob of a manifest.
type descriptor struct {
	MediaType types.MediaType `json:"mediaType"`
	Digest    string          `json:"digest"`
	Size      int64           `json:"size"`
}

// newImage returns the artifact with the given blobs.
func newImage(zip, moduleFile []byte, annotations map[string]string) (v1.Image, error) {
	i := &image{blobs: map[v1.Hash]*blob{}}
	m := manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: annotations}
	var described []descriptor
	for _, b := range []*blob{{configType, []byte(emptyConfig)}, {zipType, zip}, {moduleFileType, moduleFile}} {
		h, err := b.Digest()
		if err != nil {
			return nil, err
		}
		i.blobs[h] = b
		described = append(described, descriptor{b.mediaType, h.String(), int64(len(b.data))})
	}
	m.Config, m.Layers = described[0], described[1:]
	var err error
	if i.raw, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(i)
}

// image is a module artifact in memory.
type image struct {
	raw   []byte
	blobs map[v1.Hash]*blob
}

func (i *image) RawManifest() ([]byte, error)        { return i.raw, nil }
func (i *image) RawConfigFile() ([]byte, error)      { return []byte(emptyConfig), nil }
func (i *image) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (i *image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if b, ok := i.blobs[h]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("the manifest has no layer %s", h)
}

// blob is a layer in memory.
type blob struct {
	mediaType types.MediaType
	data      []byte
}

func (b *blob) Digest() (v1.Hash, error) {
	h, _, err := v1.SHA256(bytes.NewReader(b.data))
	return h, err
}

func (b *blob) Size() (int64, error)                { return int64(len(b.data)), nil }
func (b *blob) MediaType() (types.MediaType, error) { return b.mediaType, nil }

// Compressed returns the bytes of the layer as they are stored.
func (b *blob) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(b.data)), nil
}
