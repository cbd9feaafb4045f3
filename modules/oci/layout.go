package oci

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// refName is the annotation with the tag of an artifact in the index of a layout.
const refName = "org.opencontainers.image.ref.name"

// opener opens files of a layout by their slash-separated names.
type opener func(name string) (io.ReadCloser, error)

// directory is the directory of a layout. Links that leave it are not followed.
type directory string

// open opens the files of the layout until the returned root is closed.
func (d directory) open() (opener, io.Closer, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, nil, err
	}
	return func(name string) (io.ReadCloser, error) { return root.Open(name) }, root, nil
}

// archive is the file of a tar archive of a layout. It is read where it lies and never
// unpacked.
type archive string

// open finds the files in the archive.
func (a archive) open() (opener, io.Closer, error) { return openTar(string(a)) }

// The places that are layouts.
var (
	_ place = directory("")
	_ place = archive("")
)

// layout is a directory or an archive in the format OCI Image Layout.
type layout interface {
	open() (opener, io.Closer, error)
}

func (d directory) manifest(_ context.Context, ref Ref) ([]byte, string, error) {
	return layoutManifest(d, ref)
}

func (d directory) blob(_ context.Context, _ Ref, desc v1.Descriptor) (io.ReadCloser, error) {
	return layoutBlob(d, desc.Digest)
}

func (d directory) tags(context.Context, Ref) ([]string, error) { return layoutTags(d) }

func (a archive) manifest(_ context.Context, ref Ref) ([]byte, string, error) {
	return layoutManifest(a, ref)
}

func (a archive) blob(_ context.Context, _ Ref, desc v1.Descriptor) (io.ReadCloser, error) {
	return layoutBlob(a, desc.Digest)
}

func (a archive) tags(context.Context, Ref) ([]string, error) { return layoutTags(a) }

// layoutManifest returns the manifest that ref names, and its media type.
func layoutManifest(l layout, ref Ref) ([]byte, string, error) {
	index, err := readIndex(l)
	if err != nil {
		return nil, "", err
	}
	if ref.Tag == "" && ref.Digest == "" && len(index.Manifests) > 1 {
		if index, err = withoutReferrers(l, index); err != nil {
			return nil, "", err
		}
	}
	desc, err := choose(index, ref)
	if err != nil {
		return nil, "", err
	}
	r, err := layoutBlob(l, desc.Digest)
	if err != nil {
		return nil, "", err
	}
	defer r.Close() // it is only read
	raw, err := readManifest(r)
	if err != nil {
		return nil, "", err
	}
	return raw, string(desc.MediaType), verify(raw, desc.Digest.String(), -1)
}

// choose returns the descriptor of the artifact that ref names.
func choose(index *v1.IndexManifest, ref Ref) (v1.Descriptor, error) {
	tags := indexTags(index)
	for _, d := range index.Manifests {
		if ref.Digest != "" && d.Digest.String() == ref.Digest || ref.Digest == "" && ref.Tag != "" && d.Annotations[refName] == ref.Tag {
			return d, nil
		}
	}
	switch {
	case ref.Digest != "":
		// The index need not list what other manifests refer to.
		h, err := v1.NewHash(ref.Digest)
		return v1.Descriptor{Digest: h}, err
	case ref.Tag != "":
		e := &Error{Cause: NotFound, Message: "tag not found", Tags: nearest(ref.Tag, tags)}
		if len(e.Tags) > 0 {
			e.Hint = "did you mean " + joinOr(e.Tags) + "?"
		}
		return v1.Descriptor{}, e
	case len(index.Manifests) == 1:
		return index.Manifests[0], nil
	case len(index.Manifests) == 0:
		return v1.Descriptor{}, &Error{Cause: NotFound, Message: "the layout is empty", Hint: "write an artifact to it with 'pequod module push'"}
	}
	return v1.Descriptor{}, &Error{Cause: NotFound, Tags: tags, Message: "several artifacts", Hint: "name one of the tags: " + joinOr(tags[:min(len(tags), maxTags)])}
}

// layoutBlob opens a blob of a layout.
func layoutBlob(l layout, h v1.Hash) (io.ReadCloser, error) {
	open, closer, err := l.open()
	if err != nil {
		return nil, err
	}
	r, err := open("blobs/" + h.Algorithm + "/" + h.Hex)
	if err != nil {
		_ = closer.Close()
		return nil, err
	}
	return &closing{ReadCloser: r, also: closer}, nil
}

// closing closes a second resource.
type closing struct {
	io.ReadCloser
	also io.Closer
}

func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	if alsoErr := c.also.Close(); err == nil {
		err = alsoErr
	}
	return err
}

func layoutTags(l layout) ([]string, error) {
	index, err := readIndex(l)
	if err != nil {
		return nil, err
	}
	return indexTags(index), nil
}

// indexTags returns the tags in an index, sorted.
func indexTags(index *v1.IndexManifest) []string {
	var tags []string
	for _, d := range index.Manifests {
		if tag := d.Annotations[refName]; tagPattern().MatchString(tag) {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// readIndex returns the index of a layout.
func readIndex(l layout) (*v1.IndexManifest, error) {
	open, closer, err := l.open()
	if err != nil {
		return nil, err
	}
	defer closer.Close() // it is only read
	r, err := open("index.json")
	if os.IsNotExist(err) {
		return nil, &Error{Cause: WrongType, Message: "not an OCI layout: it has no index.json", Err: err}
	} else if err != nil {
		return nil, err
	}
	defer r.Close() // it is only read
	raw, err := readManifest(r)
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, &Error{Cause: WrongType, Message: "not an OCI layout: index.json: " + oneLine(err.Error()), Err: err}
	}
	return index, nil
}

// readManifest reads a manifest or an index, within the limits of [checkManifest].
func readManifest(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil {
		err = checkManifest(raw)
	}
	return raw, err
}

// checkManifest returns an error if a manifest or an index is larger, or has more values, than those
// of registries may be.
func checkManifest(raw []byte) error {
	const what = "the manifest"
	if len(raw) > maxManifest {
		return &tooLargeError{what: what, limit: maxManifest}
	}
	if err := jsonlimit.Check(raw, jsonlimit.Message); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// notExist is the error of a file that an archive doesn't have.
func notExist(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }

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
