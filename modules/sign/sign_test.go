package sign_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
)

// client returns a client without credentials.
func client(t *testing.T) *oci.Client {
	t.Helper()
	c, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a registry and returns the place of a repository in it.
func serve(t *testing.T, options ...registry.Option) string {
	t.Helper()
	server := httptest.NewServer(registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...))
	t.Cleanup(server.Close)
	return "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/web"
}

// newKey returns a private key and the file of its public key.
func newKey(t testing.TB) (*sign.PrivateKey, []byte) {
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
	return loaded, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
}

// publish writes an artifact with some content, and returns its reference with the digest.
func publish(t *testing.T, place, content string) (oci.Ref, v1.Image) {
	t.Helper()
	img, err := ociimage.New(ociimage.Artifact{
		Config: ociimage.Blob{MediaType: "application/vnd.example.v1+json", Data: []byte("{}")},
		Layers: []ociimage.Blob{{MediaType: "text/plain", Data: []byte(content)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef(place + ":" + content)
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t).Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	h, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref.Digest = h.String()
	return ref, img
}

// attach writes a signature.
func attach(t *testing.T, ref oci.Ref, img v1.Image) {
	t.Helper()
	if err := client(t).Attach(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
}

// signed signs an artifact.
func signed(t testing.TB, key *sign.PrivateKey, subject v1.Image) v1.Image {
	t.Helper()
	img, err := key.Sign(subject, sign.SignatureType, json.RawMessage("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// read returns the bundles of an artifact.
func read(t *testing.T, ref oci.Ref) []sign.Bundle {
	t.Helper()
	bundles, err := sign.Read(t.Context(), client(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	return bundles
}

// keys returns the trust in public keys.
func keys(t testing.TB, public ...[]byte) *sign.Trust {
	t.Helper()
	trust, err := sign.Keys(bytes.Join(public, nil))
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// TestSign signs artifacts at every kind of place, and reads the signatures back.
func TestSign(t *testing.T) {
	key, public := newKey(t)
	other, foreign := newKey(t)
	for name, place := range map[string]string{
		"referrers API": serve(t, registry.WithReferrersSupport(true)),
		"tag":           serve(t),
		"layout":        "oci-layout:" + t.TempDir() + "/layout",
		"archive":       t.TempDir() + "/web.oci.tar",
	} {
		t.Run(name, func(t *testing.T) {
			ref, img := publish(t, place, "v1")
			if b := read(t, ref); len(b) != 0 {
				t.Fatalf("%d signatures of an unsigned artifact", len(b))
			}
			attach(t, ref, signed(t, key, img))
			attach(t, ref, signed(t, key, img))
			bundles := read(t, ref)
			if len(bundles) != 2 {
				t.Fatalf("%d signatures, not 2", len(bundles))
			}
			got, err := keys(t, foreign, public).Verify(bundles[0], ref.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if got.Signer != key.Signer() || got.Type != sign.SignatureType {
				t.Errorf("%+v", got)
			}
			want := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, strings.TrimPrefix(ref.Digest, "sha256:"))
			if string(got.JSON) != want {
				t.Errorf("%s\nwant %s", got.JSON, want)
			}
			if _, err := keys(t, foreign).Verify(bundles[0], ref.Digest); fmt.Sprint(err) != "it is not by "+other.Signer().String() {
				t.Errorf("another key: %v", err)
			}
			// The only artifact of a layout is still found without a tag.
			if ref.Kind != oci.Registry {
				img, err := client(t).Image(t.Context(), ref.Place())
				if err != nil {
					t.Fatal(err)
				}
				if h, _ := img.Digest(); h.String() != ref.Digest {
					t.Errorf("%s, not %s", h, ref.Digest)
				}
			}
		})
	}
}

// TestForged has signatures that are not for the artifact, or are no signatures.
func TestForged(t *testing.T) {
	key, public := newKey(t)
	ref, img := publish(t, serve(t, registry.WithReferrersSupport(true)), "v1")
	otherRef, other := publish(t, serve(t), "v2")

	// The bundle is about another digest, but refers to this artifact.
	copied, err := signed(t, key, other).Layers()
	if err != nil {
		t.Fatal(err)
	}
	attach(t, ref, referrer(t, img, content(t, copied[0])))
	bundles := read(t, ref)
	if len(bundles) != 1 {
		t.Fatalf("%d signatures", len(bundles))
	}
	if _, err := keys(t, public).Verify(bundles[0], ref.Digest); fmt.Sprint(err) != "it is for another digest" {
		t.Errorf("of another digest: %v", err)
	}

	// The statement was changed after it was signed.
	var b map[string]any
	if err := json.Unmarshal(bundles[0].Data, &b); err != nil {
		t.Fatal(err)
	}
	envelope := b["dsseEnvelope"].(map[string]any)
	payload, err := json.Marshal(strings.Replace(statementOf(t, bundles[0], public, otherRef.Digest), otherRef.Digest[7:], ref.Digest[7:], 1))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(payload, &text); err != nil {
		t.Fatal(err)
	}
	envelope["payload"] = []byte(text)
	tampered, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys(t, public).Verify(sign.Bundle{Data: tampered}, ref.Digest); fmt.Sprint(err) != "it is not by "+key.Signer().String() {
		t.Errorf("tampered: %v", err)
	}

	for name, data := range map[string]string{
		"not JSON": "hello", "empty": "{}", "null": "null",
		"no content": `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"x"}}}`,
		"no signature": `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"x"}},
			"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[]}}`,
		"message": `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"x"}},
			"messageSignature":{"messageDigest":{"algorithm":"SHA2_256","digest":"e30="},"signature":"e30="}}`,
	} {
		if _, err := keys(t, public).Verify(sign.Bundle{Data: []byte(data)}, ref.Digest); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// statementOf returns the statement of a valid bundle.
func statementOf(t *testing.T, b sign.Bundle, public []byte, digest string) string {
	t.Helper()
	s, err := keys(t, public).Verify(b, digest)
	if err != nil {
		t.Fatal(err)
	}
	return string(s.JSON)
}

// content returns the bytes of a layer.
func content(t *testing.T, l v1.Layer) []byte {
	t.Helper()
	r, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bundleType is the type of bundles.
const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// referrer returns an artifact that has the form of a signature.
func referrer(t *testing.T, subject v1.Image, layers ...[]byte) v1.Image {
	t.Helper()
	a := ociimage.Artifact{
		Type: bundleType, Config: ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte("{}")}, Subject: descriptor(t, subject),
	}
	for _, l := range layers {
		a.Layers = append(a.Layers, ociimage.Blob{MediaType: types.MediaType(bundleType), Data: l})
	}
	img, err := ociimage.New(a)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func descriptor(t *testing.T, img v1.Image) *v1.Descriptor {
	t.Helper()
	d, err := partial.Descriptor(img)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestGarbage has referrers that are no signatures. They don't hide the signature.
func TestGarbage(t *testing.T) {
	key, _ := newKey(t)
	for name, options := range map[string][]registry.Option{"referrers API": {registry.WithReferrersSupport(true)}, "tag": nil} {
		t.Run(name, func(t *testing.T) {
			ref, img := publish(t, serve(t, options...), "v1")
			attach(t, ref, referrer(t, img))
			attach(t, ref, referrer(t, img, []byte("a"), []byte("b")))
			attach(t, ref, referrer(t, img, bytes.Repeat([]byte(" "), 2<<20)))
			attach(t, ref, referrer(t, img, []byte(`{"verificationMaterial":{"tlogEntries":[`+strings.Repeat(`{},`, 50_000)+`{}]}}`)))
			sbom, err := ociimage.New(ociimage.Artifact{
				Type: "application/spdx+json", Config: ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte("{}")}, Subject: descriptor(t, img),
			})
			if err != nil {
				t.Fatal(err)
			}
			attach(t, ref, sbom)
			attach(t, ref, signed(t, key, img))
			if b := read(t, ref); len(b) != 1 {
				t.Errorf("%d signatures", len(b))
			}
		})
	}
}

// TestManyReferrers has a registry that lists more referrers than anyone needs.
func TestManyReferrers(t *testing.T) {
	entry := fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":%q,"size":2,"digest":"sha256:%%064x"}`, bundleType)
	for name, count := range map[string]int{"more than 100 signatures": 101, "the answer of the registry: it has more than 50000 values": 30_000} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v2/":
			case strings.Contains(r.URL.Path, "/referrers/"):
				entries := make([]string, count)
				for i := range entries {
					entries[i] = fmt.Sprintf(entry, i)
				}
				w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
				fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}`, strings.Join(entries, ","))
			default:
				requests++
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		ref := oci.Ref{Host: strings.TrimPrefix(server.URL, "http://"), Repository: "acme/web", Digest: "sha256:" + strings.Repeat("0", 64)}
		_, err := sign.Read(t.Context(), client(t), ref)
		if !oci.Causes(err, oci.TooLarge) || !strings.HasSuffix(err.Error(), name+"; remove what is not needed there") {
			t.Errorf("%d: %v", count, err)
		}
		if requests > 100 {
			t.Errorf("%d requests", requests)
		}
		server.Close()
	}
}

// TestUnreachable has a registry that fails: that is no answer, and not an unsigned artifact.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	ref := oci.Ref{Host: strings.TrimPrefix(server.URL, "http://"), Repository: "acme/web", Digest: "sha256:" + strings.Repeat("0", 64)}
	if _, err := sign.Read(t.Context(), client(t), ref); !oci.Causes(err, oci.Forbidden) {
		t.Error(err)
	}
}

// TestLoadPrivateKey has the forms of key files.
func TestLoadPrivateKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := encrypted.Encrypt(pkcs8, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		kind, password string
		data           []byte
		want           string
	}{
		{"EC PRIVATE KEY", "", sec1, ""},
		{"PRIVATE KEY", "", pkcs8, ""},
		{"ENCRYPTED SIGSTORE PRIVATE KEY", "secret", locked, ""},
		{"ENCRYPTED COSIGN PRIVATE KEY", "secret", locked, ""},
		{"ENCRYPTED SIGSTORE PRIVATE KEY", "wrong", locked, "the password is wrong, or the key is damaged"},
		{"CERTIFICATE", "", pkcs8, `"CERTIFICATE" is not a private key that can sign`},
	} {
		_, err := sign.LoadPrivateKey(pem.EncodeToMemory(&pem.Block{Type: test.kind, Bytes: test.data}), func() ([]byte, error) { return []byte(test.password), nil })
		if got := fmt.Sprint(err); got != test.want && !(err == nil && test.want == "") {
			t.Errorf("%s: %v", test.kind, err)
		}
	}
	if _, err := sign.LoadPrivateKey([]byte("x"), nil); err == nil || err.Error() != "not a PEM file" {
		t.Error(err)
	}
}

// TestKeys has files that are no public keys.
func TestKeys(t *testing.T) {
	for data, want := range map[string]string{
		"":  "no public key in PEM format",
		"x": "no public key in PEM format",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": `"PRIVATE KEY" is not a public key`,
	} {
		if _, err := sign.Keys([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", data, err)
		}
	}
}
