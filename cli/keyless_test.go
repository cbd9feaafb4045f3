package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/test/sigstore"
)

// signKeyless signs an artifact of a registry with a certificate of a new Sigstore instance, as
// cosign does in a workflow, and writes the trusted root of the instance to a file:
// keyless REF IDENTITY ISSUER FILE.
func signKeyless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: keyless REF IDENTITY ISSUER FILE")
	}
	ctx := context.Background()
	ref, err := oci.ParseRef(args[0])
	ts.Check(err)
	client, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
	ts.Check(err)
	img, err := client.Image(ctx, ref)
	ts.Check(err)
	signed, err := partial.Descriptor(img)
	ts.Check(err)
	instance, err := sigstore.New()
	ts.Check(err)
	statement := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, signed.Digest.Hex, sign.SignatureType)
	bundle, err := instance.Sign(args[1], args[2], []byte(statement), instance.Valid())
	ts.Check(err)
	signature, err := ociimage.New(ociimage.Artifact{
		Type: sigstore.BundleType, Subject: signed,
		Config: ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte(ociimage.EmptyJSON)},
		Layers: []ociimage.Blob{{MediaType: types.MediaType(sigstore.BundleType), Data: bundle}},
	})
	ts.Check(err)
	ref.Digest = signed.Digest.String()
	ts.Check(client.Attach(ctx, ref, signature))
	root, err := instance.TrustedRoot()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), root, 0o600))
}
