package oci

import (
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxReferrers limits the artifacts that refer to a copied one, directly or not.
const maxReferrers = 1000

// cosignTags are the ends of the tags under which cosign kept signatures, attestations and
// SBOMs before there were referrers: sha256-HEX.sig.
var cosignTags = []string{".sig", ".att", ".sbom"}

// Copied is the result of [Client.Copy].
type Copied struct {
	// Ref is the copy, with its digest.
	Ref Ref
	// Attached is the number of artifacts about it that the source has.
	Attached int
	// Unchanged reports that the destination had all of it before.
	Unchanged bool
}

// ExistsError is a tag that names another artifact than the one to write.
type ExistsError struct {
	Ref Ref
	// Got is the digest that the tag has, and Want the one to write.
	Got, Want string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s: exists with digest %s, and the source has %s", e.Ref, e.Got, e.Want)
}

// Copy copies an artifact, and everything that refers to it directly or not: referrers, and
// what cosign keeps under tags. All bytes stay the same. If to has no tag, the copy has the
// tag of from. A tag with another digest is an [ExistsError], unless force is set.
//
// The tag of the copy is written last, so whoever finds it finds the signatures as well.
func (c *Client) Copy(ctx context.Context, from, to Ref, force bool) (Copied, error) {
	img, err := c.Image(ctx, from)
	if err != nil {
		return Copied{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return Copied{}, err
	}
	if to.Tag == "" {
		to.Tag = from.Tag
	}
	cp := &copying{Client: c, from: from.Place(), to: to.Place(), force: force, seen: map[v1.Hash]bool{digest: true}}
	exists, err := cp.exists(ctx, to.Tag, digest)
	if err != nil {
		return Copied{}, err
	}
	if !exists && to.Kind == Registry && to.Tag != "" {
		// Some registries refuse referrers of what they do not have.
		if err := c.Attach(ctx, to, img); err != nil {
			return Copied{}, err
		}
	}
	if err := cp.referrers(ctx, digest); err != nil {
		return Copied{}, err
	}
	if err := cp.tags(ctx, digest); err != nil {
		return Copied{}, err
	}
	if !exists {
		if err := cp.write(ctx, to.Tag, img); err != nil {
			return Copied{}, err
		}
	}
	to.Digest = digest.String()
	return Copied{Ref: to, Attached: cp.attached, Unchanged: !cp.written}, nil
}

// copying is one call of [Client.Copy].
type copying struct {
	*Client
	from, to Ref // without tags and digests
	force    bool
	seen     map[v1.Hash]bool // the artifacts that were copied
	attached int
	written  bool
}

// find returns an artifact if it exists.
func (c *Client) find(ctx context.Context, ref Ref) (v1.Image, bool, error) {
	raw, mediaType, err := c.manifest(ctx, ref)
	if err != nil {
		err = c.fail(ctx, ref, err)
		if Causes(err, NotFound) {
			return nil, false, nil
		}
		return nil, false, err
	}
	img, err := c.open(ctx, ref, raw, mediaType)
	return img, err == nil, err
}

// exists reports whether the destination has an artifact: under a tag, or by its digest if
// tag is "".
func (c *copying) exists(ctx context.Context, tag string, digest v1.Hash) (bool, error) {
	ref := c.to
	if ref.Tag = tag; tag == "" {
		ref.Digest = digest.String()
	}
	img, ok, err := c.find(ctx, ref)
	if !ok {
		// An index, for example, is another artifact under the tag.
		if c.force && Causes(err, WrongType) && tag != "" {
			return false, nil
		}
		return false, err
	}
	got, err := img.Digest()
	if err != nil {
		return false, err
	}
	if got != digest && !c.force {
		return false, &ExistsError{Ref: ref, Got: got.String(), Want: digest.String()}
	}
	return got == digest, nil
}

// write writes an artifact under a tag, or without one.
func (c *copying) write(ctx context.Context, tag string, img v1.Image) error {
	c.written = true
	ref := c.to
	if ref.Tag = tag; tag == "" {
		return c.Attach(ctx, ref, img)
	}
	return c.Write(ctx, ref, img)
}

// referrers copies the referrers of an artifact, and those that refer to them.
func (c *copying) referrers(ctx context.Context, subject v1.Hash) error {
	ref := c.from
	ref.Digest = subject.String()
	found, err := c.Referrers(ctx, ref, "")
	if err != nil {
		return err
	}
	for _, d := range found {
		if c.seen[d.Digest] {
			continue
		}
		c.seen[d.Digest] = true
		if c.attached++; c.attached > maxReferrers {
			return &Error{Cause: TooLarge, Ref: ref.String(), Message: fmt.Sprintf("more than %d artifacts refer to it", maxReferrers)}
		}
		ref.Digest = d.Digest.String()
		img, err := c.Image(ctx, ref)
		if err != nil {
			return err
		}
		if err := c.attach(ctx, subject, d.Digest, img); err != nil {
			return err
		}
		if err := c.referrers(ctx, d.Digest); err != nil {
			return err
		}
	}
	return nil
}

// attach copies one referrer. The list of a registry is only a claim: its own manifest has
// the subject.
func (c *copying) attach(ctx context.Context, subject, digest v1.Hash, img v1.Image) error {
	m, err := img.Manifest()
	if err != nil {
		return err
	}
	if m.Subject == nil || m.Subject.Digest != subject {
		return &Error{Cause: WrongType, Ref: c.from.String() + "@" + digest.String(), Message: "is listed as a referrer of " + subject.String() + " and is none"}
	}
	exists, err := c.exists(ctx, "", digest)
	if err != nil || exists {
		return err
	}
	return c.write(ctx, "", img)
}

// tags copies what cosign keeps under tags that contain the digest.
func (c *copying) tags(ctx context.Context, subject v1.Hash) error {
	for _, end := range cosignTags {
		ref := c.from
		ref.Tag = strings.Replace(subject.String(), ":", "-", 1) + end
		img, ok, err := c.find(ctx, ref)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		c.attached++
		digest, err := img.Digest()
		if err != nil {
			return err
		}
		exists, err := c.exists(ctx, ref.Tag, digest)
		if err != nil {
			return err
		}
		if !exists {
			if err := c.write(ctx, ref.Tag, img); err != nil {
				return err
			}
		}
	}
	return nil
}
