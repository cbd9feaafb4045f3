package artifact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/modules/artifact"
)

// TestSetMetadata checks what is written into module files, and what stays.
func TestSetMetadata(t *testing.T) {
	kinds := []artifact.Kind{{Group: "pequod.io", Kind: "Web", Versions: []string{"v1", "v1beta1"}}}
	images := []string{"docker.io/library/nginx:1.31", "docker.io/library/redis:8"}
	const head = "// Shop.\nmodule: \"example.com/shop@v1\" // stays\nlanguage: version: \"v0.17.0\"\n"
	const wantKinds = `kinds: [{group: "pequod.io", kind: "Web", versions: ["v1", "v1beta1"]}]`
	const wantImages = `images: ["docker.io/library/nginx:1.31", "docker.io/library/redis:8"]`
	const fresh = "custom: \"pequod.io@v0\": {\n\t" + wantKinds + "\n\t" + wantImages + "\n}\n"
	for name, test := range map[string]struct {
		in, want string
		kinds    []artifact.Kind
		images   []string
	}{
		"none":           {head, head + fresh, kinds, images},
		"nothing":        {head + "custom: \"pequod.io@v0\": description: \"x\"\n", head + "custom: \"pequod.io@v0\": description: \"x\"\n", nil, nil},
		"without braces": {head + "custom: \"pequod.io@v0\": description: \"x\"\n", head + "custom: \"pequod.io@v0\": {\n\tdescription: \"x\"\n\t" + wantKinds + "\n}\n", kinds, nil},
		"of others":      {head + "custom: \"example.com\": x: 1\n", head + "custom: {\n\t\"example.com\": x: 1\n\t\"pequod.io@v0\": {\n\t\t" + wantKinds + "\n\t}\n}\n", kinds, nil},
		"replaced": {
			head + "custom: \"pequod.io@v0\": {\n\t// The kinds.\n\tkinds: []\n\tdescription: \"x\"\n\n\t// The images.\n\timages: [\n\t\t// A sidecar.\n\t\t\"example.com/sidecar:1\",\n\t\t\"docker.io/library/redis:8\",\n\t]\n}\n",
			head + "custom: \"pequod.io@v0\": {\n\t// The kinds.\n\t" + wantKinds + "\n\tdescription: \"x\"\n\n\t// The images.\n\timages: [\n\t\t// A sidecar.\n\t\t\"example.com/sidecar:1\"\n\t\t\"docker.io/library/redis:8\"\n\t\t\"docker.io/library/nginx:1.31\"\n\t]\n}\n",
			kinds, images,
		},
		"in one line": {
			head + "custom: {\"pequod.io@v0\": {images: [\"docker.io/library/redis:8\"]}}\n",
			head + "custom: {\"pequod.io@v0\": {images: [\"docker.io/library/redis:8\", \"docker.io/library/nginx:1.31\"]}}\n", nil, images,
		},
	} {
		got, err := artifact.SetMetadata([]byte(test.in), test.kinds, test.images)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s:\n%s\n%s", name, got, diff)
		}
		again, err := artifact.SetMetadata(got, test.kinds, test.images)
		if diff := cmp.Diff(string(got), string(again)); diff != "" || err != nil {
			t.Errorf("%s, again: %v, %s", name, err, diff)
		}
	}
	for in, want := range map[string]string{
		"module: {": "",
		"custom: 3": "custom is not a struct",
		"custom: \"pequod.io@v0\": images: \"x\"": "images is not a list",
	} {
		if _, err := artifact.SetMetadata([]byte(in), kinds, images); err == nil || want != "" && err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}
