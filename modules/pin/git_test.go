package pin_test

import (
	"testing"

	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/pin"
)

// TestUnlockedRevisions has references to git that the lock doesn't name. Only a full commit
// is as exact as a digest.
func TestUnlockedRevisions(t *testing.T) {
	const commit, tag = "git::https://example.com/a.git?ref=0123456789012345678901234567890123456789", "git::https://example.com/a.git?ref=v1.0.0"
	for _, test := range []struct {
		ref      string
		byDigest bool
		allowed  bool
	}{
		{commit, true, true},
		{tag, true, false},
		{commit, false, false},
		{tag, false, false},
	} {
		ref, err := git.ParseRef(test.ref)
		if err != nil {
			t.Fatal(err)
		}
		pins := pin.New(pin.Options{Lock: &lock.File{}, Locked: true, ByDigest: test.byDigest})
		if _, err := pins.Git().Pins.Target(ref); (err == nil) != test.allowed {
			t.Errorf("%s, by digest %t: %v", test.ref, test.byDigest, err)
		}
	}
}
