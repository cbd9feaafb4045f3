package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// read returns the text of a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// workflow is the part of a workflow of GitHub that tests read.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Uses string
			With map[string]any
		}
	}
}

// TestActionsArePinned reads the actions of all workflows: a tag may be moved, a commit may not.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	commit := regexp.MustCompile(`@[0-9a-f]{40}$`)
	for _, file := range files {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, file[len("../"):])), &w); err != nil {
			t.Fatal(err)
		}
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				if step.Uses != "" && !commit.MatchString(step.Uses) {
					t.Errorf("%s: job %s: %s isn't pinned by commit", file, name, step.Uses)
				}
			}
		}
	}
}

// TestReleaseIsPinned checks that a release is made by tools and a base image that can't change
// without a commit, and with no more permissions than it needs.
func TestReleaseIsPinned(t *testing.T) {
	text := read(t, ".github", "workflows", "release.yaml")
	var workflow workflow
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	check := workflow.Jobs["check"].Permissions
	if len(workflow.Permissions) > 0 || len(workflow.Jobs) != 2 || len(check) != 1 || check["contents"] != "read" {
		t.Errorf("permissions %v of %d jobs, %v of the check", workflow.Permissions, len(workflow.Jobs), check)
	}
	uses := map[string]map[string]any{}
	for _, step := range slices.Concat(workflow.Jobs["check"].Steps, workflow.Jobs["release"].Steps) {
		action, _, _ := strings.Cut(step.Uses, "@")
		uses[action] = step.With
	}
	if version, _ := uses["goreleaser/goreleaser-action"]["version"].(string); !strings.Contains(read(t, "Makefile"), "goreleaser/v2@"+version+"\n") {
		t.Errorf("make release-check has another version of goreleaser than %q", version)
	}
	if version, _ := uses["anchore/sbom-action/download-syft"]["syft-version"].(string); !strings.Contains(read(t, "Makefile"), "syft/cmd/syft@"+version+"\n") {
		t.Errorf("make release-check has another version of syft than %q", version)
	}
	if ko := regexp.MustCompile(`KO: (\S+)`).FindStringSubmatch(text); ko == nil || !strings.Contains(read(t, "Makefile"), ":= "+ko[1]+"\n") {
		t.Errorf("make release-check has another version of ko than %q", ko)
	}
	base := regexp.MustCompile(`(?m)^defaultBaseImage: \S+@sha256:[0-9a-f]{64}$`)
	if !base.MatchString(read(t, ".ko.yaml")) {
		t.Error("the base image isn't pinned by digest")
	}
}

// TestManifestsHaveOneVersion compares what the hooks of goreleaser compare. They run after the images were
// pushed, but the workflow compares the tag with the first of these files before.
func TestManifestsHaveOneVersion(t *testing.T) {
	hooks := regexp.MustCompile(`grep -qx "(.*)" (\S+)'`).FindAllStringSubmatch(read(t, ".goreleaser.yaml"), -1)
	version := regexp.MustCompile(`(?m)^  newTag: v(\S+)$`).FindStringSubmatch(read(t, "config", "applier", "base", "kustomization.yaml"))
	if version == nil || len(hooks) == 0 {
		t.Fatalf("version %v, %d hooks", version, len(hooks))
	}
	for _, hook := range hooks {
		line := strings.ReplaceAll(hook[1], "{{ .Version }}", regexp.QuoteMeta(version[1]))
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(read(t, hook[2])) {
			t.Errorf("%s has no line %q", hook[2], line)
		}
	}
}

// TestReleaseCanBeVerified checks that SECURITY.md names the identity and the files
// that the workflow signs.
func TestReleaseCanBeVerified(t *testing.T) {
	workflow, goreleaser := read(t, ".github", "workflows", "release.yaml"), read(t, ".goreleaser.yaml")
	_, verify, _ := strings.Cut(read(t, "SECURITY.md"), "## Verify a release\n")
	verify, _, _ = strings.Cut(verify, "\n## ")
	for _, test := range []struct{ made, in, verified string }{
		{`tags: ["v*"]`, workflow, "/.github/workflows/release.yaml@refs/tags/$VERSION"},
		{`signature: "${artifact}.sigstore.json"`, goreleaser, "--bundle checksums.txt.sigstore.json"},
		{"artifacts: checksum\n", goreleaser, "cosign verify-blob checksums.txt "},
		{`cosign sign --yes --recursive "$APPLIER@$APPLIER_DIGEST" "$MANAGER@$MANAGER_DIGEST" "$ACTIONS@$ACTIONS_DIGEST"`, workflow,
			"cosign verify ghcr.io/pequod-io/pequod-applier:$VERSION ghcr.io/pequod-io/pequod-manager:$VERSION "},
		{"build actions \"$ACTIONS\"\n", workflow, "  ghcr.io/pequod-io/pequod-actions:$VERSION "},
		{`cosign sign --yes "ghcr.io/pequod-io/charts/pequod@$digest"`, workflow, " ghcr.io/pequod-io/charts/pequod:${VERSION#v} \\\n"},
		{"subject-checksums: dist/checksums.txt\n", workflow, "gh attestation verify pequod_"},
		{"push-to-registry: true", workflow, "gh attestation verify oci://ghcr.io/pequod-io/pequod-applier:$VERSION "},
		{"subject-digest: ${{ steps.images.outputs.manager }}\n", workflow, "gh attestation verify oci://ghcr.io/pequod-io/pequod-manager:$VERSION "},
		{"subject-digest: ${{ steps.images.outputs.actions }}\n", workflow, "gh attestation verify oci://ghcr.io/pequod-io/pequod-actions:$VERSION "},
		{"version.actionsDigest={{ .Env.ACTIONS_DIGEST }}", goreleaser, " ACTIONS_DIGEST="},
		{"version.imageDigest={{ .Env.IMAGE_DIGEST }}", goreleaser, " IMAGE_DIGEST="},
		{"version.managerDigest={{ .Env.MANAGER_DIGEST }}", goreleaser, "MANAGER_DIGEST="},
	} {
		if !strings.Contains(test.in, test.made) || !strings.Contains(verify, test.verified) {
			t.Errorf("%q is made: %t; %q is documented: %t", test.made, strings.Contains(test.in, test.made), test.verified, strings.Contains(verify, test.verified))
		}
	}
}
