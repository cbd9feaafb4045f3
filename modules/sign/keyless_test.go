package sign_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/test/sigstore"
)

const (
	issuer  = "https://token.actions.githubusercontent.com"
	subject = "https://github.com/acme/modules/.github/workflows/release.yml@refs/tags/v1"
)

// newInstance returns a Sigstore instance in memory.
func newInstance(t *testing.T) *sigstore.Instance {
	t.Helper()
	instance, err := sigstore.New()
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

// trustedRoot returns the file of the authorities of an instance.
func trustedRoot(t *testing.T, instance *sigstore.Instance) []byte {
	t.Helper()
	data, err := instance.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keyless returns the bundle of a statement about a digest that an identity signed.
func keyless(t *testing.T, instance *sigstore.Instance, identity, digest string, at time.Time) sign.Bundle {
	t.Helper()
	statement := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"), sign.SignatureType)
	data, err := instance.Sign(identity, issuer, []byte(statement), at)
	if err != nil {
		t.Fatal(err)
	}
	return sign.Bundle{Data: data}
}

// TestKeyless has signatures with certificates of a Sigstore instance in memory.
func TestKeyless(t *testing.T) {
	instance, other := newInstance(t), newInstance(t)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("a")))
	another := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("b")))
	now := instance.Valid()
	signed := keyless(t, instance, subject, digest, now)
	for _, test := range []struct {
		name     string
		root     []byte
		identity sign.Identity
		bundle   sign.Bundle
		digest   string
		want     string
	}{
		{"trusted", trustedRoot(t, instance), sign.Identity{Issuer: "^" + issuer + "$", Subject: "^https://github.com/acme/"}, signed, digest, ""},
		{"wrong issuer", trustedRoot(t, instance), sign.Identity{Issuer: "^https://accounts.google.com$", Subject: "^https://github.com/acme/"}, signed, digest, "expected issuer value to match regex"},
		{"wrong subject", trustedRoot(t, instance), sign.Identity{Issuer: issuer, Subject: "^https://github.com/evil/"}, signed, digest, "expected SAN value to match regex"},
		{"another digest", trustedRoot(t, instance), sign.Identity{Issuer: issuer, Subject: "acme"}, signed, another, "it is for another digest"},
		{"another authority", trustedRoot(t, other), sign.Identity{Issuer: issuer, Subject: "acme"}, signed, digest, "failed to verify log inclusion"},
		{"expired", trustedRoot(t, instance), sign.Identity{Issuer: issuer, Subject: "acme"}, keyless(t, instance, subject, digest, now.Add(40*time.Minute)), digest, "certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trust, err := sign.Identities(test.root, []sign.Identity{test.identity})
			if err != nil {
				t.Fatal(err)
			}
			got, err := trust.Verify(test.bundle, test.digest)
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %s", err, test.want)
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "" && got.Signer != sign.Signer{Issuer: issuer, Subject: subject}:
				t.Errorf("%+v", got.Signer)
			}
		})
	}
	_, public := newKey(t)
	if _, err := keys(t, public).Verify(signed, digest); err == nil {
		t.Error("a certificate counts as a key")
	}
}
