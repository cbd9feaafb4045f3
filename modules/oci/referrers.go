package oci

import (
	"bytes"
	"context"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Referrers returns the artifacts of a type that refer to the artifact with the digest of
// ref as their subject, such as its signatures. "" means all types. A registry that lacks
// the API for them keeps their list under a tag, and a layout in its index.
//
// The list is a claim of the registry. Callers that need the truth compare the subject in
// the manifest of each artifact.
func (c *Client) Referrers(ctx context.Context, ref Ref, artifactType string) ([]v1.Descriptor, error) {
	defer c.begin(ref)()
	all, err := c.place(ref).referrers(ctx, ref)
	if err != nil {
		return nil, c.fail(ctx, ref, err)
	}
	for i := range all {
		if d := &all[i]; artifactType != "" && (d.ArtifactType == "" || d.ArtifactType == emptyConfig) {
			if d.ArtifactType, err = c.artifactType(ctx, ref, *d); err != nil {
				return nil, c.fail(ctx, ref, err)
			}
		}
	}
	return slices.DeleteFunc(all, func(d v1.Descriptor) bool {
		return artifactType != "" && d.ArtifactType != artifactType
	}), nil
}

// emptyConfig is the type of a config that means nothing. Older registries give it as the
// type of an artifact that has one, because artifacts had no other type before OCI 1.1.
const emptyConfig = "application/vnd.oci.empty.v1+json"

// artifactType returns the type of an artifact, as its manifest has it.
func (c *Client) artifactType(ctx context.Context, ref Ref, d v1.Descriptor) (string, error) {
	ref.Tag, ref.Digest = "", d.Digest.String()
	raw, _, err := c.manifest(ctx, ref)
	if err != nil {
		return "", err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return "", nil // an artifact that can't be read has no type that one could ask for
	}
	return typeOf(m), nil
}

// Attach writes an artifact without a tag to the place of ref, which is found as a referrer
// of its subject. Writing it again changes nothing. The subject need not exist yet.
func (c *Client) Attach(ctx context.Context, ref Ref, img v1.Image) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	ref.Tag, ref.Digest = "", digest.String()
	return c.Write(ctx, ref, img)
}
