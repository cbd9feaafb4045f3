package certs

import (
	"bytes"
	"time"
)

// The keys of the Secret: the certificate that is served with its authority, the same of
// the next certificate if there is one, and the authorities to trust.
const (
	keyCert, keyKey, keyAuthority             = "tls.crt", "tls.key", "authority.crt"
	keyNextCert, keyNextKey, keyNextAuthority = "next.crt", "next.key", "next-authority.crt"
	keyBundle                                 = "ca.crt"
)

// schedule has the times of certificates.
type schedule struct {
	lifetime time.Duration
	// settle is how long API servers may take to see a changed configuration.
	settle time.Duration
}

// served returns the pair that a Secret says to serve.
func served(data map[string][]byte) *pair {
	return &pair{data[keyCert], data[keyKey], data[keyAuthority]}
}

// next returns the content of the Secret after the next step, or nil if there is nothing to
// do before the time that it returns. hosts are the names by which API servers call the
// webhook, and configured is the caBundle by which they verify it now.
func (s schedule) next(data map[string][]byte, hosts []string, configured []byte, now time.Time) (map[string][]byte, time.Time, error) {
	current, err := served(data).certificate()
	if err != nil || now.Before(current.Leaf.NotBefore) || !now.Before(current.Leaf.NotAfter) || !covers(current.Leaf, hosts) {
		// Nothing that is trusted can be served, so this one is served at once. The
		// authorities before it stay trusted for replicas that serve them.
		fresh, err := newPair(hosts, now, s.lifetime)
		if err != nil {
			return nil, time.Time{}, err
		}
		return contents(fresh, nil, now, data[keyBundle]), time.Time{}, nil
	}
	due := current.Leaf.NotAfter.Add(-s.lifetime / 3)
	following := &pair{data[keyNextCert], data[keyNextKey], data[keyNextAuthority]}
	made, err := following.certificate()
	switch {
	case now.Before(due):
		return nil, due, nil
	case err != nil || !covers(made.Leaf, hosts):
		fresh, err := newPair(hosts, now, s.lifetime)
		if err != nil {
			return nil, time.Time{}, err
		}
		return contents(served(data), fresh, now, data[keyBundle]), time.Time{}, nil
	}
	settled := made.Leaf.NotBefore.Add(skew + s.settle)
	if now.Before(settled) || !bytes.Contains(configured, following.authority) {
		return nil, settled, nil
	}
	return contents(following, nil, now, data[keyBundle]), time.Time{}, nil
}

// contents returns the content of the Secret with a pair to serve and a next pair, which
// may be nil. The bundle before it is kept as far as it hasn't expired.
func contents(serve, next *pair, now time.Time, before []byte) map[string][]byte {
	data := map[string][]byte{keyCert: serve.cert, keyKey: serve.key, keyAuthority: serve.authority}
	authorities := [][]byte{serve.authority}
	if next != nil {
		data[keyNextCert], data[keyNextKey], data[keyNextAuthority] = next.cert, next.key, next.authority
		authorities = append(authorities, next.authority)
	}
	data[keyBundle] = bundle(now, append(authorities, before)...)
	return data
}
