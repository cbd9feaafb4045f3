package install

import (
	"strings"
	"testing"
)

// A release installs its own image by digest. The user's image takes precedence.
func TestImageOf(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, name := range modeNames {
		testImageOf(t, modeOf(name), digest)
	}
}

func testImageOf(t *testing.T, m mode, digest string) {
	t.Helper()
	released := "ghcr.io/pequod-io/" + m.program + ":v"
	for _, test := range []struct{ name, chosen, digest, prefix, suffix string }{
		{"another build", "", "", released, ""},
		{"a release", "", digest, released, "@" + digest},
		{"a chosen image", "registry.example.com/a:v1", digest, "registry.example.com/a:v1", ""},
	} {
		var images []string
		for line := range strings.Lines(imageLine().ReplaceAllString(string(m.manifests), imageOf(test.chosen, test.digest))) {
			if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok {
				images = append(images, image)
			}
		}
		if len(images) != 1 || !strings.HasPrefix(images[0], test.prefix) || !strings.HasSuffix(images[0], test.suffix) {
			t.Errorf("%s: images %q", test.name, images)
		} else if test.suffix != "" && !imageName().MatchString(images[0]) {
			t.Errorf("%s: %q isn't accepted by --image", test.name, images[0])
		}
	}
}

// TestRunnerImage checks that Jobs of Actions use the image that is installed.
func TestRunnerImage(t *testing.T) {
	before := modeOf(modeActions).manifests
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, test := range []struct{ chosen, digest, want string }{
		{"", "", ""},
		{"", digest, "@" + digest},
		{"registry.example.com/a:v1", digest, "registry.example.com/a:v1"},
	} {
		text := imageLine().ReplaceAll(before, []byte(imageOf(test.chosen, test.digest)))
		image := changedImage(before, text)
		if !strings.HasSuffix(image, test.want) || test.want == "" && image != "" {
			t.Errorf("%q, %q: image %q", test.chosen, test.digest, image)
		}
		argument := "        - --leader-elect\n        - '--runner-image=" + image + "'\n"
		if got := strings.Contains(string(withRunner(text, image)), argument); got != (test.want != "") {
			t.Errorf("%q, %q: argument: %t", test.chosen, test.digest, got)
		}
	}
}
