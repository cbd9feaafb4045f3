package provenance_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/modules/provenance"
)

// build is the build of the tests. It has characters that JSON can escape.
var build = provenance.Build{
	Parameters: map[string]any{"filename": []any{"apps & <more>"}, "crds": true},
	Dependencies: []provenance.Resource{{
		URI: "git+https://git.example.com/shop", Digest: map[string]string{provenance.GitCommit: strings.Repeat("1", 40)},
		Annotations: &provenance.Annotations{Role: provenance.Source},
	}, {
		Name: "example.com/web@v1.4.0", Digest: map[string]string{provenance.SHA256: strings.Repeat("2", 64)},
		Annotations: &provenance.Annotations{Role: provenance.Import},
	}},
	Version: "v0.12.0",
}

// subject is the bundle of the tests.
var subject = &v1.Descriptor{
	MediaType: types.OCIManifestSchema1, Size: 3,
	Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)},
}

// data returns the statement about the bundle.
func data(t *testing.T) []byte {
	t.Helper()
	made, err := build.Statement(subject.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// image returns the artifact of a statement.
func image(t *testing.T, artifactType string, data []byte) v1.Image {
	t.Helper()
	img, err := provenance.Image(subject, artifactType, data)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestRead reads a statement as it is, and one in a bundle of Sigstore, whose other fields
// don't matter.
func TestRead(t *testing.T) {
	signed := fmt.Sprintf(`{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {},
		"dsseEnvelope": {"payload": %q, "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "eA=="}]}}`,
		base64.StdEncoding.EncodeToString(data(t)))
	for name, img := range map[string]v1.Image{
		"statement": image(t, provenance.ArtifactType, data(t)),
		"signed":    image(t, provenance.SignedArtifactType, []byte(signed)),
	} {
		got, err := provenance.Read(img, subject.Digest)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&build, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestStatement compares a statement, and so all of its bytes, with the specifications of
// in-toto and SLSA, and with every release: another digest would be another statement.
func TestStatement(t *testing.T) {
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"` + subject.Digest.Hex + `"}}],` +
		`"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{` +
		`"buildType":"https://github.com/pequod-io/pequod/blob/main/docs/distribution.md#provenance-v1",` +
		`"externalParameters":{"crds":true,"filename":["apps & <more>"]},"resolvedDependencies":[` +
		`{"uri":"git+https://git.example.com/shop","digest":{"gitCommit":"1111111111111111111111111111111111111111"},"annotations":{"role":"source"}},` +
		`{"name":"example.com/web@v1.4.0","digest":{"sha256":"` + strings.Repeat("2", 64) + `"},"annotations":{"role":"import"}}]},` +
		`"runDetails":{"builder":{"id":"https://github.com/pequod-io/pequod","version":{"pequod":"v0.12.0"}}}}}`
	if diff := cmp.Diff(want, string(data(t))); diff != "" {
		t.Error(diff)
	}
	h, err := image(t, provenance.ArtifactType, data(t)).Digest()
	if want := "sha256:b0a37848"; err != nil || !strings.HasPrefix(h.String(), want) {
		t.Errorf("digest %s, %v; want %s…", h, err, want)
	}
}

// TestForeign checks that other artifacts, and statements about other bundles, are not
// taken for the provenance of a bundle.
func TestForeign(t *testing.T) {
	other := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("b", 64)}
	replaced := func(old, new string) []byte { return []byte(strings.Replace(string(data(t)), old, new, 1)) }
	for name, test := range map[string]struct {
		img    v1.Image
		bundle v1.Hash
		want   string
	}{
		"other bundle":       {image(t, provenance.ArtifactType, data(t)), other, "it is about another artifact"},
		"other subject":      {image(t, provenance.ArtifactType, replaced(subject.Digest.Hex, other.Hex)), subject.Digest, "the statement is about another artifact"},
		"other predicate":    {image(t, provenance.ArtifactType, replaced("slsa.dev/provenance/v1", "slsa.dev/provenance/v2")), subject.Digest, `the statement has type "https://in-toto.io/Statement/v1" and the predicate "https://slsa.dev/provenance/v2"`},
		"other build":        {image(t, provenance.ArtifactType, replaced(provenance.BuildType, "https://example.com")), subject.Digest, `the build type is "https://example.com"`},
		"text":               {image(t, provenance.ArtifactType, []byte("text")), subject.Digest, "invalid character 'e' in literal true (expecting 'r')"},
		"signed text":        {image(t, provenance.SignedArtifactType, []byte("text")), subject.Digest, "reading the signature: invalid character 'e' in literal true (expecting 'r')"},
		"signature of bytes": {image(t, provenance.SignedArtifactType, []byte(`{"messageSignature": {}}`)), subject.Digest, "it signs no statement"},
		"many values":        {image(t, provenance.ArtifactType, []byte(`{"predicate":{"a":[`+strings.Repeat(`{},`, 50_000)+`1]}}`)), subject.Digest, "it has more than 50000 values"},
		"signed values":      {image(t, provenance.SignedArtifactType, []byte(`{"a":[`+strings.Repeat(`{},`, 50_000)+`1]}`)), subject.Digest, "reading the signature: it has more than 50000 values"},
		"large":              {image(t, provenance.ArtifactType, make([]byte, 4<<20+1)), subject.Digest, "it is larger than 4 MiB"},
	} {
		_, err := provenance.Read(test.img, test.bundle)
		var foreign *provenance.ForeignError
		if !errors.As(err, &foreign) || foreign.Defect != test.want {
			t.Errorf("%s: error %v; want %s", name, err, test.want)
		}
	}
}
