package sign

import (
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"
)

// Signer names who made a signature: a key, or a subject that an issuer of identities knows.
type Signer struct {
	// Key is the fingerprint of a public key: sha256: and the digest of its form PKIX.
	Key string
	// Issuer is the URL of the issuer, and Subject the name, such as an address or the
	// URL of a workflow.
	Issuer, Subject string
}

// String returns the signer for people and for pequod.lock, on one line.
func (s Signer) String() string {
	if s.Key != "" {
		return "key " + s.Key
	}
	return s.Subject + " of " + s.Issuer
}

// Identity matches the identity in a certificate. The fields are regular expressions, as in
// Flux; without ^ and $ they match a part of the text.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Trust decides whose signatures count.
type Trust struct{ sources []source }

// source is one key, or one root with identities.
type source struct {
	verifier *verify.Verifier
	policies []verify.PolicyOption
	signer   Signer // if the source is a key
}

// publicType is the type of public keys in PEM files.
const publicType = "PUBLIC KEY"

// Keys returns the trust in the owners of public keys. data is a PEM file with one or more.
func Keys(data []byte) (*Trust, error) {
	t := &Trust{}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != publicType {
			return nil, fmt.Errorf("%q is not a public key", block.Type)
		}
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, err := signature.LoadDefaultVerifier(public, options.WithED25519ph())
		if err != nil {
			return nil, fmt.Errorf("the key can't be used: %w", err)
		}
		// The key in a bundle is only a hint, so the key is used whatever it says.
		expiring := root.NewExpiringKey(key, time.Time{}, time.Time{})
		material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return expiring, nil })
		verifier, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
		if err != nil {
			return nil, err
		}
		t.sources = append(t.sources, source{verifier: verifier, policies: []verify.PolicyOption{verify.WithKey()}, signer: Signer{Key: fingerprint(block.Bytes)}})
	}
	if len(t.sources) == 0 {
		return nil, errors.New("no public key in PEM format")
	}
	return t, nil
}

// Identities returns the trust in identities that the authorities of a trusted root
// certified. trustedRoot is a file trusted_root.json of Sigstore. The kinds of proof that
// it has authorities for are all demanded: certificate transparency, a transparency log,
// and a time, which is that of the log or of a timestamp authority.
func Identities(trustedRoot []byte, identities []Identity) (*Trust, error) {
	material, err := root.NewTrustedRootFromJSON(trustedRoot)
	if err != nil {
		return nil, fmt.Errorf("not a trusted root of Sigstore: %w", err)
	}
	demands := []verify.VerifierOption{verify.WithObserverTimestamps(1)}
	if len(material.CTLogs()) > 0 {
		demands = append(demands, verify.WithSignedCertificateTimestamps(1))
	}
	if len(material.RekorLogs()) > 0 {
		demands = append(demands, verify.WithTransparencyLog(1))
	}
	verifier, err := verify.NewVerifier(material, demands...)
	if err != nil {
		return nil, err
	}
	var policies []verify.PolicyOption
	for _, i := range identities {
		if i.Issuer == "" || i.Subject == "" {
			return nil, errors.New("an identity needs an issuer and a subject")
		}
		certified, err := verify.NewShortCertificateIdentity("", i.Issuer, "", i.Subject)
		if err != nil {
			return nil, err
		}
		policies = append(policies, verify.WithCertificateIdentity(certified))
	}
	if len(policies) == 0 {
		return nil, errors.New("no identity")
	}
	return &Trust{[]source{{verifier: verifier, policies: policies}}}, nil
}

// explain returns why a bundle doesn't count. The library's error about a key only counts
// signatures, and there is one in a bundle.
func (s source) explain(parsed *bundle.Bundle, err error) error {
	if _, valid := s.verifier.Verify(parsed, verify.NewPolicy(verify.WithoutArtifactUnsafe(), s.policies...)); valid == nil {
		return errors.New("it is for another digest")
	}
	if s.signer.Key != "" {
		return errors.New("it is not by " + s.signer.String())
	}
	return err
}

// Statement is the statement of a bundle whose signature was verified.
type Statement struct {
	// Signer made the signature.
	Signer Signer
	// Bundle is the digest of the artifact with the bundle.
	Bundle string
	// Type is the type of the predicate, and JSON the whole statement.
	Type string
	JSON []byte
}

// Verify returns the statement of a bundle if a trusted signer signed it, and if it is about
// the artifact with a digest.
func (t *Trust) Verify(b Bundle, digest string) (*Statement, error) {
	algorithm, text, _ := strings.Cut(digest, ":")
	sum, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var parsed bundle.Bundle
	if err := parsed.UnmarshalJSON(b.Data); err != nil {
		return nil, fmt.Errorf("not a Sigstore bundle: %w", err)
	}
	envelope := parsed.GetDsseEnvelope()
	if envelope == nil || envelope.PayloadType != payloadType || !parsed.MinVersion("v0.3") {
		return nil, errors.New("not a Sigstore bundle of version 0.3 with a statement")
	}
	var failed error
	for _, s := range t.sources {
		result, err := s.verifier.Verify(&parsed, verify.NewPolicy(verify.WithArtifactDigest(algorithm, sum), s.policies...))
		if err != nil {
			failed = s.explain(&parsed, err)
			continue
		}
		signer := s.signer
		if signer.Key == "" {
			signer.Issuer = result.Signature.Certificate.Issuer
			signer.Subject = result.Signature.Certificate.SubjectAlternativeName
		}
		return &Statement{Signer: signer, Bundle: b.Digest, Type: result.Statement.GetPredicateType(), JSON: envelope.Payload}, nil
	}
	return nil, failed
}
