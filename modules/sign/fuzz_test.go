package sign_test

import (
	"io"
	"testing"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/sign"
)

// FuzzVerify verifies bytes as the signature of an unsigned artifact. All are refused, also the valid
// signature of another artifact.
func FuzzVerify(f *testing.F) {
	key, public := newKey(f)
	trust := keys(f, public)
	subject, err := ociimage.New(ociimage.Artifact{
		Config: ociimage.Blob{MediaType: "application/vnd.example.v1+json", Data: []byte("{}")},
		Layers: []ociimage.Blob{{MediaType: "text/plain", Data: []byte("one")}},
	})
	if err != nil {
		f.Fatal(err)
	}
	digest, err := subject.Digest()
	if err != nil {
		f.Fatal(err)
	}
	layers, err := signed(f, key, subject).Layers()
	if err != nil {
		f.Fatal(err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		f.Fatal(err)
	}
	valid, err := io.ReadAll(r)
	if err != nil {
		f.Fatal(err)
	}
	if s, err := trust.Verify(sign.Bundle{Data: valid}, digest.String()); err != nil || s == nil {
		f.Fatalf("the signature isn't valid: %v", err)
	}
	const other = "sha256:7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a"
	f.Add(valid)
	f.Add([]byte(`{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {}, "dsseEnvelope": {"payload": "e30="}}`))
	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := trust.Verify(sign.Bundle{Data: data}, other); err == nil {
			t.Errorf("accepted: %+v", s)
		}
	})
}
