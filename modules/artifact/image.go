package artifact

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/ociimage"
)

// newImage returns the artifact with the given blobs.
func newImage(zip, moduleFile []byte, annotations map[string]string) (v1.Image, error) {
	return ociimage.New(ociimage.Artifact{
		Config: ociimage.Blob{MediaType: configType, Data: []byte(ociimage.EmptyJSON)},
		Layers: []ociimage.Blob{
			{MediaType: zipType, Data: zip},
			{MediaType: moduleFileType, Data: moduleFile},
		},
		Annotations: annotations,
	})
}
