package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
	"github.com/pequod-io/pequod/modules/trust"
)

// provenanceOf returns the provenance of the bundle with the digest of ref. If there are
// demands, it must be signed. Rendering again proves the content without a signature, too.
func provenanceOf(ctx context.Context, client *oci.Client, ref oci.Ref, demands []trust.Rule) (*provenance.Build, error) {
	if len(demands) > 0 {
		return signedProvenance(ctx, client, ref, demands)
	}
	return findProvenance(ctx, client, ref)
}

// signedProvenance returns the provenance of the bundle with the digest of ref that is signed as
// the rules demand. Without a signature, it would be a claim of anyone who may write to the
// repository of the bundle.
func signedProvenance(ctx context.Context, client *oci.Client, ref oci.Ref, demands []trust.Rule) (*provenance.Build, error) {
	bundleDigest, err := v1.NewHash(ref.Digest)
	if err != nil {
		return nil, err
	}
	statements, err := trust.Statements(ctx, client, ref, demands, provenance.PredicateType)
	if err != nil {
		return nil, err
	}
	var best *provenance.Build
	for _, s := range statements {
		made, err := provenance.Parse([]byte(s), bundleDigest)
		if err == nil && isBetter(made, best) { // other programs make statements of this type, too
			best = made
		}
	}
	if best == nil {
		return nil, problem.List{{
			Position: demands[0].At, Rule: problem.RuleSignature,
			Message: ref.String() + ": the bundle has no provenance that a trusted signer signed; 'pequod push --sign-key' attaches it",
		}}
	}
	return best, nil
}

// isBetter reports whether made is to be used instead of best, which may be nil. The same
// version of this program is preferred: each statement has to lead to the same bytes.
func isBetter(made, best *provenance.Build) bool {
	return best == nil || best.Version != version.Program() && made.Version == version.Program()
}

// findProvenance returns the provenance of the bundle with the digest of ref, with a signature
// or without.
func findProvenance(ctx context.Context, client *oci.Client, ref oci.Ref) (*provenance.Build, error) {
	bundleDigest, err := v1.NewHash(ref.Digest)
	if err != nil {
		return nil, err
	}
	found, err := client.Referrers(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b v1.Descriptor) int { return strings.Compare(a.Digest.Hex, b.Digest.Hex) })
	var best *provenance.Build
	for _, d := range found {
		attached := ref
		attached.Tag, attached.Digest = "", d.Digest.String()
		img, err := client.Image(ctx, attached)
		if oci.Causes(err, oci.WrongType) {
			continue
		}
		if err != nil {
			return nil, err
		}
		made, err := provenance.Read(img, bundleDigest)
		switch {
		case errors.As(err, new(*provenance.ForeignError)): // such as a signature
		case err != nil:
			return nil, err
		case isBetter(made, best):
			best = made
		}
	}
	if best == nil {
		return nil, refused(fmt.Errorf("%s: the bundle has no provenance; 'pequod push' attaches it", ref))
	}
	return best, nil
}
