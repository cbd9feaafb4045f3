package pin

import (
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// Signer compares the signers of the artifact with the digest of ref with the one in the
// lock, and records a signer if Options.Record is set. Its errors are a [problem.List].
func (p *Pins) Signer(ref oci.Ref, signers []string) error {
	signer := signers[0]
	m, ok := p.find(func(f *lock.File) (lock.Module, bool) { return f.Digest(ref.Digest) })
	switch {
	case !ok || m.Signer == "":
	case slices.Contains(signers, m.Signer):
		signer = m.Signer
	default:
		ref.Digest = ""
		list := p.refuse(fmt.Sprintf("%s is signed by %s, and %s is locked", ref, signer, m.Signer))
		list[0].Hint = "find out why; 'pequod module lock --upgrade' accepts the new signer"
		return list
	}
	if p.options.Record {
		record(&p.recorded, &p.recorded.signers, ref.Digest, signer)
	}
	return nil
}

// Offline reports whether no requests are allowed.
func (p *Pins) Offline() bool { return p.options.Offline }

// Remember keeps a short text in the cache.
func (p *Pins) Remember(key, value string) { p.options.Cache.Remember(key, value) }

// Recall returns a text that [Pins.Remember] has kept. Commands that write the lock ask the
// registry again.
func (p *Pins) Recall(key string) (string, bool) {
	if p.options.Record {
		return "", false
	}
	return p.options.Cache.Recall(key)
}
