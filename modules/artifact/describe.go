package artifact

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// kinds are the artifacts that users take for modules, by the type of their config or by
// the type that the artifact declares.
var kinds = map[types.MediaType]string{
	"application/vnd.cncf.helm.config.v1+json":       "a Helm chart",
	"application/vnd.timoni.config.v1+json":          "a timoni module",
	"application/vnd.cncf.flux.config.v1+json":       "a bundle of manifests",
	"application/vnd.docker.container.image.v1+json": "a container image",
	"application/vnd.oci.image.config.v1+json":       "a container image",
	"application/vnd.dev.sigstore.bundle.v0.3+json":  "a signature",
}

// layerKinds are artifacts whose config doesn't tell their kind, by the type of their
// first layer.
var layerKinds = map[types.MediaType]string{
	"application/vnd.dev.cosign.simplesigning.v1+json":    "a signature",
	"application/vnd.dev.sigstore.bundle.v0.3+json":       "a signature",
	"application/vnd.cncf.helm.chart.content.v1.tar+gzip": "a Helm chart",
}

// describe returns what an artifact is that is no module, for messages.
func describe(m *v1.Manifest) string {
	if len(m.Layers) > 0 {
		if kind := layerKinds[m.Layers[0].MediaType]; kind != "" {
			return kind
		}
	}
	for _, t := range []types.MediaType{types.MediaType(m.ArtifactType), m.Config.MediaType} {
		if kind := kinds[t]; kind != "" {
			return kind
		}
		if strings.HasPrefix(string(t), "application/vnd.pequod.bundle.") {
			return "a bundle of manifests"
		}
	}
	if m.ArtifactType != "" {
		return fmt.Sprintf("an artifact of type %q", m.ArtifactType)
	}
	return fmt.Sprintf("an artifact of type %q", m.Config.MediaType)
}
