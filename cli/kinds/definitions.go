package kinds

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/crdgen/openapi"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/render"
)

// ownKinds returns the kinds of Pequod itself, such as ResourceGraph.
func ownKinds() ([]openapi.Kind, error) {
	var all []openapi.Kind
	for _, doc := range config.Definitions() {
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(doc, d); err != nil {
			return nil, err
		}
		all = append(all, openapi.Kinds(d)...)
	}
	return all, nil
}

// generated returns the kinds of platforms, in their order.
func generated(ctx context.Context, flags *platform.Flags, platforms []*render.Platform) ([]openapi.Kind, error) {
	crds, err := render.Map(ctx, flags.Limits(), platforms, (*render.Platform).Subject,
		func(p *render.Platform) ([]openapi.Kind, error) {
			made, err := crd.Generate(p)
			if err != nil {
				return nil, err
			}
			return openapi.Kinds(made.CRD), nil
		})
	var all []openapi.Kind
	for _, kinds := range crds {
		all = append(all, kinds...)
	}
	return all, err
}

// load returns the kinds of Pequod, those of the platforms of -p, and with embedded those of
// the embedded modules that these don't replace.
func load(ctx context.Context, flags *platform.Flags, embedded bool) ([]openapi.Kind, error) {
	own, err := ownKinds()
	if err != nil {
		return nil, err
	}
	catalog, err := flags.LoadPlatforms(ctx)
	if err != nil {
		return nil, err
	}
	platforms := catalog.Given
	if embedded {
		more, err := catalog.Embedded(ctx)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, more...)
	}
	kinds, err := generated(ctx, flags, platforms)
	return append(kinds, own...), err
}
