package oci

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/internal/source"
)

// maxTags limits the number of tags that an error lists.
const maxTags = 3

// Image returns the artifact that ref names. Its manifest is read and verified; blobs
// are read when they are asked for, under ctx. A ref without tag and digest names the
// only artifact of a layout, and nothing in a registry.
func (c *Client) Image(ctx context.Context, ref Ref) (v1.Image, error) {
	defer c.begin(ref)()
	raw, mediaType, err := c.manifest(ctx, ref)
	if err != nil {
		err = c.fail(ctx, ref, err)
		if Causes(err, NotFound) {
			c.addTags(ctx, ref, err)
		}
		return nil, err
	}
	return c.open(ctx, ref, raw, mediaType)
}

// open returns the artifact with a manifest.
func (c *Client) open(ctx context.Context, ref Ref, raw []byte, mediaType string) (v1.Image, error) {
	core, err := newImage(ref, raw, mediaType)
	if err != nil {
		return nil, c.fail(ctx, ref, err)
	}
	core.read = func(desc v1.Descriptor) ([]byte, error) {
		data, err := c.blob(ctx, ref, desc)
		if err != nil {
			return nil, c.fail(ctx, ref, err)
		}
		return data, nil
	}
	return partial.CompressedToImage(core)
}

// manifest returns a manifest and its media type. Manifests are kept in the store of
// blobs, which has those with a known digest.
func (c *Client) manifest(ctx context.Context, ref Ref) ([]byte, string, error) {
	fetch := func(ctx context.Context) ([]byte, string, error) {
		raw, mediaType, err := c.place(ref).manifest(ctx, ref)
		if err == nil && ref.Digest != "" {
			err = verify(raw, ref.Digest, -1)
		}
		return raw, mediaType, err
	}
	if c.options.Blobs == nil {
		return fetch(ctx)
	}
	if ref.Digest == "" {
		raw, mediaType, err := fetch(ctx)
		if err == nil {
			// The next reference to the artifact may be its digest.
			_, err = c.options.Blobs.Get(ctx, digestOf(raw), int64(len(raw)), func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(raw)), nil
			})
		}
		return raw, mediaType, err
	}
	raw, err := c.options.Blobs.Get(ctx, ref.Digest, -1, func(ctx context.Context) (io.ReadCloser, error) {
		raw, _, err := fetch(ctx)
		return io.NopCloser(bytes.NewReader(raw)), err
	})
	if err == nil {
		err = checkManifest(raw) // the store may have a blob with this digest
	}
	return raw, "", err // the media type stands in the manifest
}

// blob returns a verified blob.
func (c *Client) blob(ctx context.Context, ref Ref, desc v1.Descriptor) ([]byte, error) {
	if desc.Size > c.options.MaxBlob {
		return nil, &tooLargeError{what: "a part of the artifact, with " + sizeText(desc.Size) + ",", limit: c.options.MaxBlob}
	}
	if c.options.Blobs == nil {
		return c.fetchBlob(ctx, ref, desc)
	}
	return c.options.Blobs.Get(ctx, desc.Digest.String(), desc.Size, func(ctx context.Context) (io.ReadCloser, error) {
		data, err := c.fetchBlob(ctx, ref, desc)
		return io.NopCloser(bytes.NewReader(data)), err
	})
}

// fetchBlob reads and verifies a blob. A transfer that breaks off is repeated: the
// transport only repeats requests until their answer begins.
func (c *Client) fetchBlob(ctx context.Context, ref Ref, desc v1.Descriptor) ([]byte, error) {
	defer c.begin(ref)()
	var data []byte
	err := repeat(ctx, c.options.timing.wait, func() (err error) {
		data, err = c.readBlob(ctx, ref, desc)
		return err
	})
	return data, err
}

func (c *Client) readBlob(ctx context.Context, ref Ref, desc v1.Descriptor) ([]byte, error) {
	r, err := c.place(ref).blob(ctx, ref, desc)
	if err != nil {
		return nil, err
	}
	defer r.Close() // it is only read
	// One byte more than promised is enough to find out that it is too long.
	limited := io.LimitReader(r, desc.Size+1)
	if c.options.Progress != nil {
		limited = &counted{Reader: limited, report: func(done int64) {
			c.options.Progress.Advance(ref.String(), done, desc.Size)
		}}
	}
	var data bytes.Buffer
	data.Grow(int(desc.Size) + bytes.MinRead) // the size is at most MaxBlob
	if _, err := data.ReadFrom(limited); err != nil {
		return nil, err
	}
	return data.Bytes(), verify(data.Bytes(), desc.Digest.String(), desc.Size)
}

// counted reports the number of bytes that were read.
type counted struct {
	io.Reader
	done   int64
	report func(done int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done += int64(n)
	c.report(c.done)
	return n, err
}

// verify returns an error if data has another digest or size. size -1 is any size.
func verify(data []byte, digest string, size int64) error {
	got := digestOf(data)
	switch {
	case size >= 0 && int64(len(data)) != size:
		return &Error{Cause: DigestMismatch, Message: fmt.Sprintf("wrong content: got %d bytes of %s, want %d", len(data), digest, size)}
	case got != digest:
		return &Error{Cause: DigestMismatch, Message: fmt.Sprintf("wrong content: got digest %s, want %s", got, digest)}
	}
	return nil
}

// digestOf returns the digest of data as sha256:HEX.
func digestOf(data []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// addTags adds the nearest tags to an error about a tag that does not exist. That the
// tags can't be listed is no second error.
func (c *Client) addTags(ctx context.Context, ref Ref, err error) {
	var e *Error
	if !errors.As(err, &e) || ref.Tag == "" || ref.Digest != "" || e.Tags != nil {
		return
	}
	tags, listErr := c.Tags(ctx, ref)
	if listErr != nil || len(tags) == 0 {
		return
	}
	e.Tags = nearest(ref.Tag, tags)
	e.Message, e.Hint = "tag not found", "did you mean "+joinOr(e.Tags)+"?"
}

// nearest returns the tags that are most similar to tag: a misspelling first, then the
// tags with the longest common beginning, the newest of them first.
func nearest(tag string, tags []string) []string {
	common := func(s string) int {
		n := 0
		for n < len(s) && n < len(tag) && s[n] == tag[n] {
			n++
		}
		return n
	}
	sorted := slices.Clone(tags)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(common(b), common(a)), CompareVersions(b, a))
	})
	if misspelt := source.Nearest(tag, sorted); misspelt != "" {
		sorted = append([]string{misspelt}, slices.DeleteFunc(sorted, func(s string) bool { return s == misspelt })...)
	}
	return sorted[:min(maxTags, len(sorted))]
}

// joinOr returns words with commas and an "or" in between.
func joinOr(words []string) string {
	var b bytes.Buffer
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(w)
	}
	return b.String()
}

// image is the core of a [v1.Image] that reads verified blobs.
type image struct {
	raw       []byte
	mediaType types.MediaType
	blobs     map[v1.Hash]v1.Descriptor
	config    v1.Descriptor
	read      func(v1.Descriptor) ([]byte, error)
}

// newImage returns the image with a manifest. An index is not an image: it lists
// several, such as one for each processor.
func newImage(ref Ref, raw []byte, mediaType string) (*image, error) {
	var kind struct {
		MediaType string          `json:"mediaType"`
		Manifests json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, &Error{Cause: WrongType, Ref: ref.String(), Message: "not a manifest: " + oneLine(err.Error())}
	}
	if kind.Manifests != nil || types.MediaType(cmp.Or(kind.MediaType, mediaType)).IsIndex() {
		return nil, &Error{Cause: WrongType, Ref: ref.String(), Message: "an index of several artifacts, such as a container image for several platforms"}
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil || m.Config.Digest == (v1.Hash{}) {
		return nil, &Error{Cause: WrongType, Ref: ref.String(), Message: "not a manifest of an artifact", Err: err}
	}
	i := &image{raw: raw, config: m.Config, blobs: map[v1.Hash]v1.Descriptor{m.Config.Digest: m.Config}}
	i.mediaType = types.MediaType(cmp.Or(string(m.MediaType), mediaType, string(types.OCIManifestSchema1)))
	for _, l := range m.Layers {
		i.blobs[l.Digest] = l
	}
	for _, d := range i.blobs {
		if d.Size < 0 || d.Digest.Algorithm != "sha256" {
			return nil, &Error{Cause: WrongType, Ref: ref.String(), Message: "not a manifest of an artifact: a digest that is not sha256, or a negative size"}
		}
	}
	return i, nil
}

func (i *image) RawManifest() ([]byte, error)        { return i.raw, nil }
func (i *image) MediaType() (types.MediaType, error) { return i.mediaType, nil }
func (i *image) RawConfigFile() ([]byte, error)      { return i.read(i.config) }

// LayerByDigest implements partial.CompressedImageCore.
func (i *image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	desc, ok := i.blobs[h]
	if !ok {
		return nil, fmt.Errorf("the manifest has no blob %s", h)
	}
	return &layer{desc: desc, read: i.read}, nil
}

// layer is one blob of an image.
type layer struct {
	desc v1.Descriptor
	read func(v1.Descriptor) ([]byte, error)
}

func (l *layer) Digest() (v1.Hash, error)            { return l.desc.Digest, nil }
func (l *layer) Size() (int64, error)                { return l.desc.Size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return l.desc.MediaType, nil }
func (l *layer) Descriptor() (*v1.Descriptor, error) { return &l.desc, nil }

// Compressed returns the bytes of the blob as they are stored.
func (l *layer) Compressed() (io.ReadCloser, error) {
	data, err := l.read(l.desc)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// typeOf returns the type of an artifact.
func typeOf(m *v1.Manifest) string { return cmp.Or(m.ArtifactType, string(m.Config.MediaType)) }
