package sign

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pequod-io/pequod/internal/ociimage"
)

// PrivateKey signs artifacts.
type PrivateKey struct {
	signer signature.Signer
	public []byte // in the form PKIX, DER
}

// LoadPrivateKey returns the key in a PEM file: one that cosign encrypted with a password,
// or a key in the form PKCS #8 or SEC 1 without one. password is called only for the former.
func LoadPrivateKey(data []byte, password func() ([]byte, error)) (*PrivateKey, error) {
	key, err := parsePrivateKey(data, password)
	if err != nil {
		return nil, err
	}
	// As cosign does: its other form of ED25519 signs no digests.
	signer, err := signature.LoadDefaultSigner(key, options.WithED25519ph())
	if err != nil {
		return nil, fmt.Errorf("the key can't be used: %w", err)
	}
	public, err := signer.PublicKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	return &PrivateKey{signer, der}, err
}

// parsePrivateKey returns the key in a PEM file.
func parsePrivateKey(data []byte, password func() ([]byte, error)) (crypto.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("not a PEM file")
	}
	switch block.Type {
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		pass, err := password()
		if err != nil {
			return nil, err
		}
		der, err := encrypted.Decrypt(block.Bytes, pass)
		if err != nil {
			return nil, errors.New("the password is wrong, or the key is damaged")
		}
		return x509.ParsePKCS8PrivateKey(der)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	return nil, fmt.Errorf("%q is not a private key that can sign", block.Type)
}

// Signer returns the signer that signatures with the key have.
func (k *PrivateKey) Signer() Signer { return Signer{Key: fingerprint(k.public)} }

// Trust returns the trust in signatures with the key.
func (k *PrivateKey) Trust() (*Trust, error) {
	return Keys(pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: k.public}))
}

// Sign returns a statement about an artifact with a signature, as an artifact for
// [oci.Client.Attach]. predicate is the content of the statement, as an object in JSON: {} if the type
// is [SignatureType].
func (k *PrivateKey) Sign(img v1.Image, predicateType string, predicate json.RawMessage) (v1.Image, error) {
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(statement{
		Type:          "https://in-toto.io/Statement/v1",
		Subject:       []resource{{Digest: map[string]string{subject.Digest.Algorithm: subject.Digest.Hex}}},
		PredicateType: predicateType,
		Predicate:     predicate,
	})
	if err != nil {
		return nil, err
	}
	made, err := k.signer.SignMessage(bytes.NewReader(dsse.PAE(payloadType, payload)))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(k.public)
	data, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: mediaType,
		VerificationMaterial: &protobundle.VerificationMaterial{Content: &protobundle.VerificationMaterial_PublicKey{
			PublicKey: &protocommon.PublicKeyIdentifier{Hint: base64.StdEncoding.EncodeToString(sum[:])},
		}},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: payload, PayloadType: payloadType, Signatures: []*protodsse.Signature{{Sig: made}},
		}},
	})
	if err != nil {
		return nil, err
	}
	return artifact(*subject, predicateType, data)
}

// artifact returns the artifact that cosign writes for a bundle.
func artifact(subject v1.Descriptor, predicateType string, bundle []byte) (v1.Image, error) {
	return ociimage.New(ociimage.Artifact{
		Type:    mediaType,
		Config:  ociimage.Blob{MediaType: emptyType, Data: []byte(ociimage.EmptyJSON)},
		Layers:  []ociimage.Blob{{MediaType: types.MediaType(mediaType), Data: bundle}},
		Subject: &subject,
		Annotations: map[string]string{
			"dev.sigstore.bundle.content":       "dsse-envelope",
			"dev.sigstore.bundle.predicateType": predicateType,
		},
	})
}

// statement is an in-toto statement.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []resource      `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// resource is the subject of a statement.
type resource struct {
	Digest map[string]string `json:"digest"`
}

// fingerprint returns the name of a public key: the digest of its form PKIX.
func fingerprint(public []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(public))
}
