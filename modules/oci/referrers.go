package oci

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
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

// typeOf returns the type of an artifact.
func typeOf(m *v1.Manifest) string { return cmp.Or(m.ArtifactType, string(m.Config.MediaType)) }

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

// referrers implements place. The library falls back to the tag.
func (r *registry) referrers(ctx context.Context, ref Ref) ([]v1.Descriptor, error) {
	repo, err := r.repository(ref)
	if err != nil {
		return nil, err
	}
	index, err := remote.Referrers(repo.Digest(ref.Digest), append(slices.Clone(r.options), remote.WithContext(ctx), remote.Reuse(r.puller))...)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if n := len(manifest.Manifests); n > maxListed {
		return nil, &Error{Cause: TooLarge, Message: fmt.Sprintf("more than %d referrers", maxListed)}
	}
	return manifest.Manifests, nil
}

func (d directory) referrers(_ context.Context, ref Ref) ([]v1.Descriptor, error) {
	return layoutReferrers(d, ref)
}

func (a archive) referrers(_ context.Context, ref Ref) ([]v1.Descriptor, error) {
	return layoutReferrers(a, ref)
}

// layoutReferrers returns the referrers of an artifact in a layout.
func layoutReferrers(l layout, ref Ref) ([]v1.Descriptor, error) {
	index, err := readIndex(l)
	if err != nil {
		return nil, err
	}
	var all []v1.Descriptor
	for _, d := range index.Manifests {
		m, err := layoutSubject(l, d)
		if err != nil {
			return nil, err
		}
		if m != nil && m.Subject.Digest.String() == ref.Digest {
			d.ArtifactType = typeOf(m)
			all = append(all, d)
		}
	}
	return all, nil
}

// layoutSubject returns the manifest of an artifact of a layout that has a subject, or nil
// if it has none.
func layoutSubject(l layout, d v1.Descriptor) (*v1.Manifest, error) {
	if !d.MediaType.IsImage() {
		return nil, nil
	}
	r, err := layoutBlob(l, d.Digest)
	if err != nil {
		return nil, err
	}
	defer r.Close() // it is only read
	raw, err := readManifest(r)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil || m.Subject == nil {
		return nil, nil // an artifact that can't be read is an error for those who read it
	}
	return m, nil
}

// withoutReferrers returns the index of a layout without the artifacts that have a
// subject. They are found by their subject, not by the user.
func withoutReferrers(l layout, index *v1.IndexManifest) (*v1.IndexManifest, error) {
	reduced := *index
	reduced.Manifests = nil
	for _, d := range index.Manifests {
		m, err := layoutSubject(l, d)
		if err != nil {
			return nil, err
		}
		if m == nil {
			reduced.Manifests = append(reduced.Manifests, d)
		}
	}
	return &reduced, nil
}
