package git

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// deltas returns a pack with a delta of each content. The objects on which they build are
// missing.
func deltas(t *testing.T, contents ...[]byte) []byte {
	t.Helper()
	pack := bytes.NewBufferString("PACK")
	_ = binary.Write(pack, binary.BigEndian, [2]uint32{2, uint32(len(contents))})
	for _, c := range contents {
		if len(c) > 15 {
			t.Fatalf("%d bytes don't fit into a header of one byte", len(c))
		}
		pack.WriteByte(byte(plumbing.REFDeltaObject)<<4 | byte(len(c)))
		pack.Write(make([]byte, len(plumbing.ZeroHash)))
		w := zlib.NewWriter(pack)
		_, _ = w.Write(c)
		_ = w.Close()
	}
	return pack.Bytes()
}

// TestDeltas checks packs of some bytes with deltas that declare any size of the object that
// they make.
func TestDeltas(t *testing.T) {
	delta := func(size uint64) []byte { return binary.AppendUvarint([]byte{1}, size) } // of a base of one byte
	for name, test := range map[string]struct {
		contents [][]byte
		want     error
	}{
		"small":          {[][]byte{delta(1000), delta(1000)}, nil},
		"the largest":    {[][]byte{delta(maxUnpacked - 5)}, nil}, // and 5 bytes of the delta
		"too large":      {[][]byte{delta(maxUnpacked + 1)}, errUnpacked},
		"any number":     {[][]byte{delta(math.MaxUint64), delta(math.MaxUint64)}, errUnpacked},
		"many":           {slices.Repeat([][]byte{delta(maxUnpacked / 100)}, 101), errUnpacked},
		"without a size": {[][]byte{{1}}, packfile.ErrMalformedPackFile},
		"empty":          {[][]byte{nil}, packfile.ErrMalformedPackFile},
	} {
		pack := deltas(t, test.contents...)
		if err := checkPack(pack); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if _, err := unpack(pack); err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: unpacking: %v, want %v", name, err, test.want)
		}
	}
}
