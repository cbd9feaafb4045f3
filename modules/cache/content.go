package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// maxSize is the size limit of one content, in bytes. The largest artifacts are
// zips of modules, which have lower limits of their own; this one keeps a wrong size
// in a manifest, and a server that sends no end, from filling the memory.
const maxSize = 256 << 20

// MismatchError reports content that differs from its digest or size.
type MismatchError struct {
	// Digest is the expected digest, and Got the actual one.
	Digest, Got string
	// Size is the expected length in bytes, or negative; GotSize is the actual one, or
	// the one at which reading ended.
	Size, GotSize int64
}

func (e *MismatchError) Error() string {
	if e.Size >= 0 && e.Size != e.GotSize {
		return fmt.Sprintf("content %s: %d bytes are expected, not %d", e.Digest, e.Size, e.GotSize)
	}
	return fmt.Sprintf("content %s: the digest of the received bytes is %s", e.Digest, e.Got)
}

// content describes expected bytes.
type content struct {
	hex  string // SHA-256
	size int64  // negative if it is unknown
}

// parse returns the description of content with a digest and a size. The digest
// becomes a file name, so its form is strict.
func parse(digest string, size int64) (content, error) {
	name, ok := strings.CutPrefix(digest, "sha256:")
	if b, err := hex.DecodeString(name); !ok || err != nil || len(b) != sha256.Size || name != strings.ToLower(name) {
		return content{}, fmt.Errorf("%q is not sha256: and 64 lower-case hex digits", digest)
	}
	if size > maxSize {
		return content{}, fmt.Errorf("content %s: %d bytes are more than %d MiB", digest, size, maxSize>>20)
	}
	return content{hex: name, size: size}, nil
}

// download returns the bytes that fetch downloads, if they are the expected ones.
func (c content) download(ctx context.Context, fetch Fetch) ([]byte, error) {
	r, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close() // all bytes were read and are compared below
	limit := c.size
	if limit < 0 {
		limit = maxSize
	}
	var b bytes.Buffer
	if c.size > 0 {
		b.Grow(int(c.size) + bytes.MinRead)
	}
	// One byte more than expected shows that there are too many.
	if _, err := io.Copy(&b, io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	return b.Bytes(), c.check(b.Bytes())
}

// check returns an error if data is not the expected content.
func (c content) check(data []byte) error {
	if n := int64(len(data)); c.size >= 0 && n != c.size || n > maxSize {
		return &MismatchError{Digest: "sha256:" + c.hex, Size: c.size, GotSize: n}
	}
	return c.verify(data)
}

// verify returns an error if data has another digest, whatever its size.
func (c content) verify(data []byte) error {
	if got := hexOf(data); got != c.hex {
		return &MismatchError{Digest: "sha256:" + c.hex, Got: "sha256:" + got, Size: c.size, GotSize: int64(len(data))}
	}
	return nil
}

// hexOf returns the SHA-256 of data in hex.
func hexOf(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// record returns the file of a record. It has the key, so that a file that was
// moved or damaged is not taken for another one.
func record(key, value string) []byte {
	return []byte(key + "\n" + value + "\n")
}

// recordValue returns the value in the file of a record, if it is that of key and
// is complete.
func recordValue(data []byte, key string) (string, bool) {
	value, ok := strings.CutPrefix(string(data), key+"\n")
	if !ok {
		return "", false
	}
	value, ok = strings.CutSuffix(value, "\n")
	return value, ok && !strings.Contains(value, "\n")
}
