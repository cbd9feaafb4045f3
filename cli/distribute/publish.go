package distribute

import (
	"bytes"
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
	"github.com/pequod-io/pequod/modules/sign"
)

// statementOf returns the provenance of a bundle as an artifact. It is signed unless key is
// nil. It returns nil if the key has signed the same statement before: a signature differs each
// time, so there would be another one after each push. pinned has the digest of img.
func statementOf(ctx context.Context, client *oci.Client, pinned oci.Ref, img v1.Image, made *provenance.Build, key *sign.PrivateKey) (v1.Image, error) {
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	if key != nil {
		signed, err := isSigned(ctx, client, pinned, subject.Digest, made, key)
		if err != nil || signed {
			return nil, err
		}
		predicate, err := made.Predicate()
		if err != nil {
			return nil, err
		}
		return key.Sign(img, provenance.PredicateType, predicate)
	}
	// The type of the bundle says nothing that its digest doesn't.
	subject.ArtifactType = ""
	data, err := made.Statement(subject.Digest)
	if err != nil {
		return nil, err
	}
	return provenance.Image(subject, provenance.ArtifactType, data)
}

// isSigned reports whether the provenance of a bundle is there with a signature of key.
func isSigned(ctx context.Context, client *oci.Client, pinned oci.Ref, digest v1.Hash, made *provenance.Build, key *sign.PrivateKey) (bool, error) {
	trusted, err := key.Trust()
	if err != nil {
		return false, err
	}
	bundles, err := sign.Read(ctx, client, pinned)
	if oci.Causes(err, oci.NotFound) {
		return false, nil // a new layout
	}
	if err != nil {
		return false, err
	}
	want, err := made.Statement(digest)
	if err != nil {
		return false, err
	}
	for _, b := range bundles {
		s, err := trusted.Verify(b, pinned.Digest)
		if err != nil {
			continue // the signature of another key, or none
		}
		there, err := provenance.Parse(s.JSON, digest)
		if err != nil {
			continue // a statement of another type
		}
		if got, err := there.Statement(digest); err == nil && bytes.Equal(got, want) {
			return true, nil
		}
	}
	return false, nil
}

// publish writes a module or a bundle, unless it is there, with its provenance and its
// signature, which may be nil. The tag is written last: whoever finds an artifact by its tag
// finds both.
func publish(ctx context.Context, client *oci.Client, ref oci.Ref, img, statement, signature v1.Image, there bool) error {
	if statement != nil || signature != nil {
		// Some registries refuse referrers of what they do not have.
		if !there && ref.Kind == oci.Registry {
			if err := client.Attach(ctx, ref, img); err != nil {
				return err
			}
		}
		if err := makeParent(ref); err != nil {
			return err
		}
	}
	if statement != nil {
		if err := client.Attach(ctx, ref, statement); err != nil {
			return fmt.Errorf("attaching the provenance, which --provenance=false leaves out: %w", err)
		}
	}
	if signature != nil {
		if err := client.Attach(ctx, ref, signature); err != nil {
			return fmt.Errorf("attaching the signature: %w", err)
		}
	}
	if there {
		return nil
	}
	return write(ctx, client, ref, img)
}
