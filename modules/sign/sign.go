// Package sign signs artifacts and verifies their signatures, without a network for the
// verification.
//
// A signature is a Sigstore bundle of version 0.3 with an in-toto statement about the
// digest of a manifest. It is an artifact that refers to the signed one: cosign writes and
// reads the same, and so do Flux and policy controllers.
//
// [LoadPrivateKey] and [PrivateKey.Sign] make a signature, [Read] returns those of an
// artifact, and a [Trust] verifies one: [Keys] trusts the owners of keys, and
// [Identities] those to whom an authority gave a certificate for a short time.
//
// All cryptography is that of the Sigstore libraries. The package knows nothing of
// modules, and doesn't decide which artifact needs a signature.
package sign

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/jsonlimit"
	"github.com/pequod-io/pequod/modules/oci"
)

const (
	// mediaType is the type of a bundle, and of the artifact that has it as its layer.
	mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// mediaTypes is the beginning of the types of bundles of all versions.
	mediaTypes = "application/vnd.dev.sigstore.bundle"
	// emptyType is the type of configs that have no content.
	emptyType = "application/vnd.oci.empty.v1+json"
	// payloadType is the type of an in-toto statement in a bundle.
	payloadType = "application/vnd.in-toto+json"

	// SignatureType is the predicate type of a statement that says nothing but that the
	// artifact is signed. It is that of cosign.
	SignatureType = "https://sigstore.dev/cosign/sign/v1"
)

const (
	// maxBundle limits the size of a bundle in bytes. One with a certificate, a proof of
	// a transparency log and a timestamp has about 10 KiB.
	maxBundle = 1 << 20
	// maxBundles limits the bundles of an artifact. Each takes two requests.
	maxBundles = 100
)

// Reader reads artifacts and those that refer to them, as [oci.Client] does.
type Reader interface {
	Image(ctx context.Context, ref oci.Ref) (v1.Image, error)
	Referrers(ctx context.Context, ref oci.Ref, artifactType string) ([]v1.Descriptor, error)
}

// Bundle is a statement about an artifact with a signature that is not verified yet.
type Bundle struct {
	// Digest is the digest of the manifest of the artifact that has the bundle.
	Digest string
	// Data is the bundle in JSON.
	Data []byte
}

// Read returns the bundles that refer to the artifact with the digest of ref. Artifacts of
// other kinds and broken ones are left out: anyone who may write to a repository can add
// one.
func Read(ctx context.Context, r Reader, ref oci.Ref) ([]Bundle, error) {
	referrers, err := r.Referrers(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	var bundles []Bundle
	seen := map[v1.Hash]bool{}
	for _, d := range referrers {
		// Lists that were made without the type of the artifact have that of its config.
		known := strings.HasPrefix(d.ArtifactType, mediaTypes) || d.ArtifactType == "" || d.ArtifactType == emptyType
		if !known || seen[d.Digest] {
			continue
		}
		if seen[d.Digest] = true; len(seen) > maxBundles {
			return nil, &oci.Error{Cause: oci.TooLarge, Ref: ref.String(), Message: fmt.Sprintf("more than %d signatures", maxBundles)}
		}
		bundle, err := ReadBundle(ctx, r, ref, d.Digest.String())
		switch {
		case err == nil:
			bundles = append(bundles, *bundle)
		case !garbage(err):
			return nil, err
		}
	}
	return bundles, nil
}

// garbage reports whether an error is about a referrer itself and not about the access
// to it.
func garbage(err error) bool {
	for _, cause := range []oci.Cause{oci.NotFound, oci.WrongType, oci.TooLarge, oci.DigestMismatch} {
		if oci.Causes(err, cause) {
			return true
		}
	}
	return false
}

// ReadBundle returns the bundle in the artifact with a digest, which is in the repository
// of ref.
func ReadBundle(ctx context.Context, r Reader, ref oci.Ref, digest string) (*Bundle, error) {
	ref = ref.Place()
	ref.Digest = digest
	img, err := r.Image(ctx, ref)
	if err != nil {
		return nil, err
	}
	notBundle := func(err error) error {
		return &oci.Error{Cause: oci.WrongType, Ref: ref.String(), Message: "not a signature", Hint: "sign the artifact again with 'pequod module sign'", Err: err}
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, notBundle(err)
	}
	if len(m.Layers) != 1 || !strings.HasPrefix(string(m.Layers[0].MediaType), mediaTypes) || m.Layers[0].Size > maxBundle {
		return nil, notBundle(nil)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, notBundle(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close() // it is only read
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	if err := jsonlimit.Check(data, jsonlimit.Message); err != nil {
		return nil, notBundle(err)
	}
	return &Bundle{Digest: digest, Data: data}, nil
}

// UntrustedError reports that no signature of an artifact counts.
type UntrustedError struct {
	// Ref is the artifact.
	Ref string
	// Found is the number of signatures that were found. 0 means that the artifact is not
	// signed.
	Found int
	// Err is the reason why the last of them doesn't count, or nil.
	Err error
}

func (e *UntrustedError) Error() string {
	switch e.Found {
	case 0:
		return e.Ref + ": not signed"
	case 1:
		return fmt.Sprintf("%s: the signature is not trusted: %s", e.Ref, oci.Detail(e.Err))
	}
	return fmt.Sprintf("%s: none of %d signatures is trusted: %s", e.Ref, e.Found, oci.Detail(e.Err))
}

func (e *UntrustedError) Unwrap() error { return e.Err }

// Find returns the statements of one type about the artifact with the digest of ref that
// trusted signers signed: see [Trust.Check].
func (t *Trust) Find(ctx context.Context, r Reader, ref oci.Ref, predicateType string) ([]Statement, error) {
	bundles, err := Read(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	return t.Check(ref, bundles, predicateType)
}

// Check returns the statements of one type about the artifact with the digest of ref in
// bundles that trusted signers signed, one for each signer and sorted by them. It returns an
// [UntrustedError] if there are none.
func (t *Trust) Check(ref oci.Ref, bundles []Bundle, predicateType string) ([]Statement, error) {
	var found []Statement
	refused := &UntrustedError{Ref: ref.String()}
	for _, b := range bundles {
		s, err := t.Verify(b, ref.Digest)
		switch {
		case err != nil:
			refused.Found++
			refused.Err = err
		case s.Type == predicateType && !slices.ContainsFunc(found, func(f Statement) bool { return f.Signer == s.Signer }):
			found = append(found, *s)
		}
	}
	if len(found) == 0 {
		return nil, refused
	}
	slices.SortFunc(found, func(a, b Statement) int { return strings.Compare(a.Signer.String(), b.Signer.String()) })
	return found, nil
}
