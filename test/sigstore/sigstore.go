// Package sigstore makes signatures with certificates of a Sigstore instance in memory, for
// tests. Instances have no log of certificates. Only tests may import it: it brings the
// libraries of the services.
package sigstore

import (
	"encoding/base64"
	"encoding/hex"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"google.golang.org/protobuf/encoding/protojson"
)

// BundleType is the type of the bundles that [Instance.Sign] makes.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Instance is a Sigstore instance: authorities for certificates and times, and a
// transparency log.
type Instance struct{ virtual *ca.VirtualSigstore }

// New returns an instance with new keys.
func New() (*Instance, error) {
	virtual, err := ca.NewVirtualSigstore()
	return &Instance{virtual}, err
}

// Valid returns a time at which certificates that are issued now are valid.
func (*Instance) Valid() time.Time { return time.Now().Add(5 * time.Minute) }

// TrustedRoot returns the file trusted_root.json of the instance.
func (i *Instance) TrustedRoot() ([]byte, error) {
	logs := i.virtual.RekorLogs()
	for id, l := range logs {
		raw, err := hex.DecodeString(id) // the instance has the text, which a file can't have
		if err != nil {
			return nil, err
		}
		l.ID = raw
	}
	made, err := root.NewTrustedRoot(root.TrustedRootMediaType01, i.virtual.FulcioCertificateAuthorities(), nil, i.virtual.TimestampingAuthorities(), logs)
	if err != nil {
		return nil, err
	}
	return made.MarshalJSON()
}

// Sign returns the bundle of a statement that an identity, which an issuer knows, signed at a
// time.
func (i *Instance) Sign(identity, issuer string, statement []byte, at time.Time) ([]byte, error) {
	entity, err := i.virtual.AttestAtTime(identity, issuer, statement, at, true)
	if err != nil {
		return nil, err
	}
	content, err := entity.SignatureContent()
	if err != nil {
		return nil, err
	}
	verification, err := entity.VerificationContent()
	if err != nil {
		return nil, err
	}
	entries, err := entity.TlogEntries()
	if err != nil {
		return nil, err
	}
	var log []*protorekor.TransparencyLogEntry
	for _, e := range entries {
		entry := e.TransparencyLogEntry()
		entry.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
		log = append(log, entry)
	}
	stamps, err := entity.Timestamps()
	if err != nil {
		return nil, err
	}
	envelope := content.EnvelopeContent().RawEnvelope()
	made, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(&protobundle.Bundle{
		MediaType: BundleType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:     &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: verification.Certificate().Raw}},
			TlogEntries: log,
			TimestampVerificationData: &protobundle.TimestampVerificationData{
				Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamps[0]}},
			},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: statement, PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: made}},
		}},
	})
}
