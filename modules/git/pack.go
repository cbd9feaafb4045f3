package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/pequod-io/pequod/internal/gitfs"
)

// Limits for a revision of a repository, which may contain more than the module. They are
// those of published modules, and a tree for every file.
const (
	// maxPack is the limit for the compressed files, in bytes.
	maxPack = 64 << 20
	// maxUnpacked is the limit for all files, in bytes.
	maxUnpacked = 256 << 20
	// maxObjects is the limit for files and directories.
	maxObjects = 20_000
	// maxTags limits how many tags may refer to each other.
	maxTags = 8
)

// The errors about limits.
var (
	errLargePack = fmt.Errorf("the revision is larger than %d MiB, compressed", maxPack>>20)
	errUnpacked  = fmt.Errorf("the revision is larger than %d MiB", maxUnpacked>>20)
	errObjects   = fmt.Errorf("the revision has more than %d files and directories", maxObjects)
)

// errMissing is the error about an object that the server did not send.
var errMissing = errors.New("the server did not send all objects of the commit")

// objects are the objects of one revision.
type objects struct{ store *memory.ObjectStorage }

// unpack returns the objects in a pack. Their names are computed from their contents.
func unpack(pack []byte) (objects, error) {
	if err := checkPack(pack); err != nil {
		return objects{}, err
	}
	o := objects{&memory.NewStorage().ObjectStorage}
	p, err := packfile.NewParserWithStorage(packfile.NewScanner(bytes.NewReader(pack)), o.store)
	if err == nil {
		_, err = p.Parse()
	}
	return o, err
}

// checkPack returns an error if the objects in a pack exceed the limits. The library
// bounds an object by the size that its header declares, and by nothing else, so the
// headers are read first.
func checkPack(pack []byte) error {
	s := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := s.Header()
	if err != nil {
		return err
	}
	if count > maxObjects {
		return errObjects
	}
	var total uint64
	for range count {
		h, err := s.NextObjectHeader()
		if err != nil {
			return err
		}
		if h.Length > maxUnpacked {
			return errUnpacked
		}
		total += uint64(h.Length)
		if h.Type.IsDelta() {
			size, err := deltaSize(s)
			if err != nil {
				return err
			}
			total += min(size, maxUnpacked+1)
		}
		if total > maxUnpacked {
			return errUnpacked
		}
	}
	return nil
}

// deltaSize returns the size of the object that the delta at the position of s makes. A
// delta begins with the size of its base and this size, as variable-length integers.
func deltaSize(s *packfile.Scanner) (uint64, error) {
	var head prefix
	if _, _, err := s.NextObject(&head); err != nil {
		return 0, err
	}
	_, n := binary.Uvarint(head.data)
	if n <= 0 {
		return 0, packfile.ErrMalformedPackFile
	}
	size, n := binary.Uvarint(head.data[n:])
	if n <= 0 {
		return 0, packfile.ErrMalformedPackFile
	}
	return size, nil
}

// prefix keeps the beginning of what is written to it.
type prefix struct{ data []byte }

// Write implements io.Writer.
func (p *prefix) Write(b []byte) (int, error) {
	if missing := 2*binary.MaxVarintLen64 - len(p.data); missing > 0 {
		p.data = append(p.data, b[:min(missing, len(b))]...)
	}
	return len(b), nil
}

// read returns the content of an object.
func (o objects) read(kind plumbing.ObjectType, name plumbing.Hash) (_ []byte, err error) {
	object, err := o.store.EncodedObject(kind, name)
	if err != nil {
		return nil, errMissing
	}
	r, err := object.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close() // it is in memory
	return io.ReadAll(r)
}

// commit returns the commit that name is or, as an annotated tag, refers to, and the
// commit's tree.
func (o objects) commit(name plumbing.Hash) (commit, tree plumbing.Hash, err error) {
	for range maxTags {
		data, err := o.read(plumbing.TagObject, name)
		if err != nil {
			break // not a tag
		}
		if name, err = header(data, "object "); err != nil {
			return commit, tree, err
		}
	}
	data, err := o.read(plumbing.CommitObject, name)
	if err != nil {
		return commit, tree, err
	}
	tree, err = header(data, "tree ")
	return name, tree, err
}

// header returns the object in the first line of a commit or a tag.
func header(data []byte, field string) (plumbing.Hash, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	hex, ok := bytes.CutPrefix(line, []byte(field))
	if !ok || !plumbing.IsHash(string(hex)) {
		return plumbing.ZeroHash, fmt.Errorf("malformed object: want %q in %.60q", field, line)
	}
	return plumbing.NewHash(string(hex)), nil
}

// Entries implements [gitfs.Objects]. A tree is a sequence of entries:
// MODE SP NAME NUL and the 20 bytes of the object's name.
func (o objects) Entries(tree string) ([]gitfs.Entry, error) {
	data, err := o.read(plumbing.TreeObject, plumbing.NewHash(tree))
	if err != nil {
		return nil, err
	}
	var entries []gitfs.Entry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, named := bytes.Cut(head, []byte(" "))
		var object plumbing.Hash
		if !ok || !named || len(rest) < len(object) {
			return nil, fmt.Errorf("malformed tree %s", tree)
		}
		copy(object[:], rest)
		data = rest[len(object):]
		e := gitfs.Entry{Name: string(name), Mode: fmt.Sprintf("%06s", mode), Object: object.String()}
		if blob, err := o.store.EncodedObject(plumbing.BlobObject, object); err == nil {
			e.Size = blob.Size()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Blob implements [gitfs.Objects].
func (o objects) Blob(object string) ([]byte, error) {
	return o.read(plumbing.BlobObject, plumbing.NewHash(object))
}
