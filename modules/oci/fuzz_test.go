package oci

import (
	"strings"
	"testing"
)

// FuzzManifest reads any bytes as the manifest that a registry sends. One that is accepted names its
// config and all blobs by SHA-256, with sizes that aren't negative.
func FuzzManifest(f *testing.F) {
	const sum = "sha256:7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a"
	blob := func(size string) string {
		return `{"mediaType": "text/plain", "size": ` + size + `, "digest": "` + sum + `"}`
	}
	f.Add(`{"schemaVersion": 2, "config": `+blob("2")+`, "layers": [`+blob("3")+`]}`, "")
	f.Add(`{"schemaVersion": 2, "config": `+blob("-1")+`, "layers": []}`, "application/vnd.oci.image.manifest.v1+json")
	f.Add(`{"manifests": []}`, "application/vnd.oci.image.index.v1+json")
	f.Add(strings.ReplaceAll(`{"config": `+blob("1")+`}`, "sha256", "sha512"), "")
	f.Add(`{"config": {"digest": "sha256:"}}`, "")
	f.Add("[]", "")
	f.Fuzz(func(t *testing.T, raw, mediaType string) {
		i, err := newImage(Ref{}, []byte(raw), mediaType)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error %q", err)
			}
			return
		}
		for digest, d := range i.blobs {
			if digest != d.Digest || digest.Algorithm != "sha256" || len(digest.Hex) != 64 || d.Size < 0 {
				t.Errorf("the blob %+v", d)
			}
		}
	})
}
