package generate

import (
	"context"

	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/render"
)

// CRD is an encoded CRD, with notes about the constraints of the schema that it can't
// express.
type CRD struct {
	output.Object
	// Notes have positions in the files of the module where these are known, and
	// the position of the platform otherwise. They never fail a command.
	Notes problem.List
}

// CRDs generates the CRDs of platforms on all processors, under the limits of
// evaluation. encoding is one of [output.Formats]. The result has the order of
// platforms. The first error ends it.
func CRDs(ctx context.Context, limits render.Limits, platforms []*render.Platform, encoding string) ([]CRD, error) {
	return render.Map(ctx, limits, platforms, (*render.Platform).Subject,
		func(p *render.Platform) (CRD, error) { return crdOf(p, encoding) })
}

// crdOf generates and encodes the CRD of one platform.
//
// YAML has an encoder of its own, crdgen.Marshal; JSON and names take the encoder
// of all commands.
func crdOf(p *render.Platform, encoding string) (CRD, error) {
	var g CRD
	r, err := crd.Generate(p)
	if err != nil {
		return g, err
	}
	g.Notes = r.Notes
	g.Key = "customresourcedefinition.apiextensions.k8s.io/" + r.CRD.Name
	g.Path = outdir.Path("apiextensions.k8s.io", "CustomResourceDefinition", "", r.CRD.Name)
	if encoding == "yaml" {
		g.Data, err = crdgen.Marshal(r.CRD)
	} else {
		g.Data, err = output.Encode(encoding, r.CRD, g.Key)
	}
	return g, err
}
