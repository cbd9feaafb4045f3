package sign_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pequod-io/pequod/modules/sign"
)

const (
	issuer  = "https://token.actions.githubusercontent.com"
	subject = "https://github.com/acme/modules/.github/workflows/release.yml@refs/tags/v1"
)

// trustedRoot returns the file of the authorities of a Sigstore instance in memory, which
// has no log of certificates.
func trustedRoot(t *testing.T, instance *ca.VirtualSigstore) []byte {
	t.Helper()
	logs := instance.RekorLogs()
	for id, l := range logs {
		raw, err := hex.DecodeString(id) // the instance has the text, which a file can't have
		if err != nil {
			t.Fatal(err)
		}
		l.ID = raw
	}
	made, err := root.NewTrustedRoot(root.TrustedRootMediaType01, instance.FulcioCertificateAuthorities(), nil, instance.TimestampingAuthorities(), logs)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keyless returns the bundle of a statement about a digest that an identity signed.
func keyless(t *testing.T, instance *ca.VirtualSigstore, identity, digest string, at time.Time) sign.Bundle {
	t.Helper()
	payload := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"), sign.SignatureType)
	entity, err := instance.AttestAtTime(identity, issuer, []byte(payload), at, true)
	if err != nil {
		t.Fatal(err)
	}
	content, err := entity.SignatureContent()
	if err != nil {
		t.Fatal(err)
	}
	verification, err := entity.VerificationContent()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := entity.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	var log []*protorekor.TransparencyLogEntry
	for _, e := range entries {
		entry := e.TransparencyLogEntry()
		entry.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
		log = append(log, entry)
	}
	stamps, err := entity.Timestamps()
	if err != nil {
		t.Fatal(err)
	}
	envelope := content.EnvelopeContent().RawEnvelope()
	made, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	data, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: bundleType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:     &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: verification.Certificate().Raw}},
			TlogEntries: log,
			TimestampVerificationData: &protobundle.TimestampVerificationData{
				Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamps[0]}},
			},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: []byte(payload), PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: made}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sign.Bundle{Data: data}
}

// TestKeyless has signatures with certificates of a Sigstore instance in memory.
func TestKeyless(t *testing.T) {
	instance, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	other, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("a")))
	another := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("b")))
	now := time.Now().Add(5 * time.Minute) // the certificates of the instance are valid then
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
