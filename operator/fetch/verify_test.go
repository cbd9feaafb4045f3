package fetch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/test/sigstore"
)

// newKey returns a key and its public part in PEM format.
func newKey(t *testing.T) (*sign.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := sign.LoadPrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// TestVerify fetches modules whose signature is demanded.
func TestVerify(t *testing.T) {
	c := start(t)
	s := newServer(t)
	c.pullSecret(t, s.host)
	key, public := newKey(t)
	_, other := newKey(t)
	c.secret(t, "keys", corev1.SecretTypeOpaque, map[string]string{"cosign.pub": public})
	c.secret(t, "both", corev1.SecretTypeOpaque, map[string]string{"a.pub": other, "b.pub": public, "note": "not a key"})
	c.secret(t, "foreign", corev1.SecretTypeOpaque, map[string]string{"cosign.pub": other})
	c.secret(t, "empty", corev1.SecretTypeOpaque, map[string]string{"cosign.key": "hunter2"})
	c.secret(t, "broken", corev1.SecretTypeOpaque, map[string]string{"a.pub": public, "b.pub": "hunter2"})

	signed, img := s.push(t, "v1.0.0", shop("signed"))
	signature, err := key.Sign(img, sign.SignatureType, json.RawMessage("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client(t).Attach(t.Context(), signed, signature); err != nil {
		t.Fatal(err)
	}
	unsigned, bare := s.push(t, "v1.1.0", shop("unsigned"))
	manifest, err := bare.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	zip := manifest.Layers[0].Digest.String() // the other layer is that of both modules
	f := c.fetcher(t, nil)
	for _, test := range []struct {
		ref    oci.Ref
		secret string
		want   string // "" for success
	}{
		{signed, "keys", ""},
		{signed, "keys", ""}, // the signature is in the cache
		{signed, "both", ""},
		{signed, "foreign", fetch.Unsigned},
		{unsigned, "keys", fetch.Unsigned},
		{signed, "none", fetch.SecretNotFound},
		{signed, "empty", fetch.SecretInvalid},
		{signed, "broken", fetch.SecretInvalid},
	} {
		ref := v1alpha1.CueRef{
			Type: v1alpha1.CueRefOCI, Ref: test.ref.String(), PullSecretRef: pointer("pull"),
			Verify: &v1alpha1.Verify{Provider: "cosign", SecretRef: test.secret},
		}
		fetched, err := f.Fetch(t.Context(), transformOf(c.Namespace, ref))
		if test.want != "" {
			wantReason(t, test.ref.Tag+" "+test.secret, err, test.want)
		} else if err != nil || loads(t, fetched) != "" {
			t.Errorf("%s %s: %v", test.ref.Tag, test.secret, err)
		}
	}
	// Nothing of an unsigned module is read but its manifest.
	requests := s.take()
	if slices.ContainsFunc(requests, func(r string) bool { return strings.HasSuffix(r, zip) }) {
		t.Errorf("the content of the unsigned module was read: %q", requests)
	}
	// A policy has its own demand.
	ref := v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: unsigned.String(), PullSecretRef: pointer("pull")}
	demanding := ref
	demanding.Verify = &v1alpha1.Verify{Provider: "cosign", SecretRef: "keys"}
	if _, err := f.Fetch(t.Context(), transformOf(c.Namespace, ref)); err != nil {
		t.Errorf("without a demand: %v", err)
	}
	_, err = f.Fetch(t.Context(), transformOf(c.Namespace, ref, demanding))
	wantReason(t, "the same module as a policy", err, fetch.Unsigned)
}

// TestVerifyIdentity demands the signature of an identity that an authority certified.
func TestVerifyIdentity(t *testing.T) {
	const issuer, subject = "https://token.actions.githubusercontent.com", "https://github.com/acme/modules/.github/workflows/release.yml@refs/tags/v1"
	c := start(t)
	s := newServer(t)
	c.pullSecret(t, s.host)
	instance, err := sigstore.New()
	if err != nil {
		t.Fatal(err)
	}
	root, err := instance.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	_, public := newKey(t)
	c.secret(t, "root", corev1.SecretTypeOpaque, map[string]string{"trusted_root.json": string(root)})
	c.secret(t, "keys", corev1.SecretTypeOpaque, map[string]string{"cosign.pub": public})
	ref, img := s.push(t, "v1.0.0", shop("signed"))
	subjectOf, err := partial.Descriptor(img)
	if err != nil {
		t.Fatal(err)
	}
	statement := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		subjectOf.Digest.Hex, sign.SignatureType)
	bundle, err := instance.Sign(subject, issuer, []byte(statement), instance.Valid())
	if err != nil {
		t.Fatal(err)
	}
	attach(t, s, ref, *subjectOf, bundle)
	f := c.fetcher(t, nil)
	for _, test := range []struct {
		secret   string
		identity v1alpha1.OIDCIdentity
		want     string
	}{
		{"root", v1alpha1.OIDCIdentity{Issuer: "^" + issuer + "$", Subject: "^https://github.com/acme/"}, ""},
		{"root", v1alpha1.OIDCIdentity{Issuer: "^" + issuer + "$", Subject: "^https://github.com/evil/"}, fetch.Unsigned},
		{"root", v1alpha1.OIDCIdentity{Issuer: "(", Subject: "acme"}, fetch.InvalidReference},
		{"keys", v1alpha1.OIDCIdentity{Issuer: issuer, Subject: "acme"}, fetch.SecretInvalid},
	} {
		_, err := f.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{
			Type: v1alpha1.CueRefOCI, Ref: ref.String(), PullSecretRef: pointer("pull"),
			Verify: &v1alpha1.Verify{Provider: "cosign", SecretRef: test.secret, MatchOIDCIdentity: []v1alpha1.OIDCIdentity{test.identity}},
		}))
		if test.want != "" {
			wantReason(t, fmt.Sprint(test.secret, test.identity), err, test.want)
		} else if err != nil {
			t.Errorf("%v: %v", test.identity, err)
		}
	}
}

// attach writes a bundle as a referrer of an artifact.
func attach(t *testing.T, s *server, ref oci.Ref, subject v1.Descriptor, bundle []byte) {
	t.Helper()
	img, err := ociimage.New(ociimage.Artifact{
		Type:    sigstore.BundleType,
		Config:  ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte(ociimage.EmptyJSON)},
		Layers:  []ociimage.Blob{{MediaType: types.MediaType(sigstore.BundleType), Data: bundle}},
		Subject: &subject,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client(t).Attach(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
}
