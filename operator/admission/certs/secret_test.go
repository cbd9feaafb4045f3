package certs

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// trusted reports whether clients with a bundle trust the certificate that a Secret says to
// serve.
func trusted(t *testing.T, data map[string][]byte, bundle []byte, host string, now time.Time) bool {
	t.Helper()
	c, err := served(data).certificate()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = c.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host})
	return err == nil
}

// TestRotation follows a Secret over a year: at every step, the certificate that is served,
// and the one before it, are trusted.
func TestRotation(t *testing.T) {
	s := schedule{90 * 24 * time.Hour, 10 * time.Minute}
	hosts := []string{"127.0.0.1", "pequod-webhook.pequod-system.svc"}
	now, end := start, start.AddDate(1, 0, 0)
	var data, before map[string][]byte
	rotations := 0
	for steps := 0; now.Before(end); steps++ {
		if steps > 50 {
			t.Fatal("more than 50 steps in a year")
		}
		changed, due, err := s.next(data, hosts, data[keyBundle], now)
		switch {
		case err != nil:
			t.Fatal(err)
		case changed == nil && !due.After(now):
			t.Fatalf("%s: nothing to do until %s", now, due)
		case changed == nil:
			now = due
			continue
		}
		if data != nil && !bytes.Equal(changed[keyCert], data[keyCert]) {
			rotations++
		}
		// A client that has seen neither the change nor the bundle of it trusts what a
		// replica serves that has seen it, and the other way round.
		for _, host := range hosts {
			if data != nil && !trusted(t, changed, data[keyBundle], host, now) || !trusted(t, changed, changed[keyBundle], host, now) {
				t.Errorf("%s: the certificate is served before it is trusted by %s", now, host)
			}
			if data != nil && !trusted(t, data, changed[keyBundle], host, now) ||
				before != nil && trusted(t, before, before[keyBundle], host, now) && !trusted(t, before, changed[keyBundle], host, now) {
				t.Errorf("%s: the certificate before it isn't trusted any more by %s", now, host)
			}
		}
		before, data = data, changed
	}
	if rotations != 6 { // every 60 days
		t.Errorf("%d rotations in a year", rotations)
	}
	if n := bytes.Count(data[keyBundle], []byte("BEGIN")); n > 3 {
		t.Errorf("the bundle has %d authorities", n)
	}
}

// TestNextIsNotServed holds that a certificate isn't served before API servers know its
// authority.
func TestNextIsNotServed(t *testing.T) {
	s := schedule{90 * 24 * time.Hour, 10 * time.Minute}
	first, _, err := s.next(nil, []string{"a.b.svc"}, nil, start)
	if err != nil {
		t.Fatal(err)
	}
	late := start.Add(70 * 24 * time.Hour)
	second, _, err := s.next(first, []string{"a.b.svc"}, first[keyBundle], late)
	if err != nil || second == nil {
		t.Fatalf("%v, %v", second, err)
	}
	for name, test := range map[string]struct {
		configured []byte
		now        time.Time
		served     bool
	}{
		"the bundle isn't configured":     {first[keyBundle], late.Add(time.Hour), false},
		"the bundle has just been":        {second[keyBundle], late.Add(time.Minute), false},
		"the bundle is known everywhere":  {second[keyBundle], late.Add(11 * time.Minute), true},
		"the configuration was not found": {nil, late.Add(time.Hour), false},
	} {
		third, due, err := s.next(second, []string{"a.b.svc"}, test.configured, test.now)
		if err != nil || (third != nil) != test.served {
			t.Errorf("%s: %d keys, %s, %v", name, len(third), due, err)
		}
	}
}

// TestReplaced holds when a certificate is replaced at once, and that the bundle keeps the
// authorities of those that other replicas may serve.
func TestReplaced(t *testing.T) {
	s := schedule{90 * 24 * time.Hour, 10 * time.Minute}
	first, _, err := s.next(nil, []string{"a.b.svc"}, nil, start)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key string, value []byte) map[string][]byte {
		data := map[string][]byte{key: value}
		for k, v := range first {
			if k != key {
				data[k] = v
			}
		}
		return data
	}
	other, err := newPair([]string{"a.b.svc"}, start, s.lifetime)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data  map[string][]byte
		hosts []string
		now   time.Time
		keeps bool
	}{
		"another namespace":     {first, []string{"a.c.svc"}, start, true},
		"expired":               {first, []string{"a.b.svc"}, start.Add(91 * 24 * time.Hour), false},
		"by a clock ahead":      {first, []string{"a.b.svc"}, start.Add(-365 * 24 * time.Hour), true},
		"no key":                {with(keyKey, nil), []string{"a.b.svc"}, start, true},
		"garbage":               {with(keyCert, []byte("garbage")), []string{"a.b.svc"}, start, true},
		"the key of another":    {with(keyKey, other.key), []string{"a.b.svc"}, start, true},
		"another authority":     {with(keyAuthority, other.authority), []string{"a.b.svc"}, start, true},
		"a bundle with garbage": {with(keyCert, nil), []string{"a.b.svc"}, start, true},
	} {
		got, _, err := s.next(test.data, test.hosts, first[keyBundle], test.now)
		if err != nil || got == nil || !trusted(t, got, got[keyBundle], test.hosts[0], test.now) {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if keeps := trusted(t, first, got[keyBundle], "a.b.svc", start); keeps != test.keeps {
			t.Errorf("%s: the authority before it is kept: %t", name, keeps)
		}
	}
	if got, due, err := s.next(first, []string{"a.b.svc"}, nil, start); got != nil || err != nil || !due.Equal(start.Add(60*24*time.Hour)) {
		t.Errorf("nothing is due: %v, %s, %v", got, due, err)
	}
}
