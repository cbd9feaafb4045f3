package fetch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/fetch"
)

// policy is a policy module that allows nothing, with a message.
func policy(message string) map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/rules@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"rules.cue":          "package rules\n#Policy: violations: [{message: \"" + message + "\"}]\n",
	}
}

// volume writes files as kubelet does with those of a ConfigMap: by links that it replaces.
func volume(t *testing.T, dir, revision string, files map[string]string) {
	t.Helper()
	data := filepath.Join(dir, ".."+revision)
	for name, text := range files {
		if name == "cue.mod/module.cue" {
			continue // a ConfigMap has no directories
		}
		writeFiles(t, data, map[string]string{name: text})
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "..next")
	if err := os.Symlink(".."+revision, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// TestOrganization adds the policies of the organization to a platform, from a directory, a
// registry with credentials and a ConfigMap of the manager's namespace, and to none that a
// Transform could name.
func TestOrganization(t *testing.T) {
	t.Parallel()
	c := start(t)
	s := newServer(t)
	c.pullSecret(t, s.host)
	remote, _ := s.push(t, "v1.0.0", policy("by registry"))
	rules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "rules", Labels: map[string]string{v1alpha1.LabelCueModule: "true"}}}
	rules.Data = map[string]string{"rules.cue": policy("by ConfigMap")["rules.cue"]}
	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), rules, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	volume(t, dir, "1", policy("by directory"))
	fetcher := func(policies ...string) *fetch.Fetcher {
		return c.fetcher(t, func(o *fetch.Options) {
			o.Organization = fetch.Organization{Policies: policies, Namespace: c.Namespace, PullSecret: "pull"}
		})
	}
	// The Transform is in another namespace, which has neither the Secret nor the ConfigMap.
	platform := transformOf(c.other, v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"})
	all := fetcher(dir, remote.String(), "configmap:"+c.Namespace+"/rules")
	first, err := all.Fetch(t.Context(), platform)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Moving {
		t.Error("the policies count as fixed")
	}
	if problems := loads(t, first); problems != "" {
		t.Error(problems)
	}
	sources, err := transform.Decode(first.Sources)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sources.Policies); n != 3 {
		t.Fatalf("%d policies; want 3", n)
	}
	if again, err := all.Fetch(t.Context(), platform); err != nil || again.Digest != first.Digest {
		t.Errorf("the same policies: digest %v, %v", again, err)
	}
	volume(t, dir, "2", policy("by directory, changed"))
	changed, err := all.Fetch(t.Context(), platform)
	if err != nil || changed.Digest == first.Digest {
		t.Errorf("a changed policy has the same digest: %v", err)
	}
	if pinned, err := fetcher("embedded:webservice").Fetch(t.Context(), platform); err != nil || pinned.Moving {
		t.Errorf("an embedded policy can move: %v", err)
	}

	// What can't be opened has the reason, and the policy in its message.
	for ref, reason := range map[string]string{
		"configmap:" + c.Namespace + "/nothing": fetch.NotFound, "configmap:" + c.other + "/rules": fetch.NotAllowed,
		strings.Replace(remote.String(), ":v1.0.0", ":v2.0.0", 1): fetch.NotFound, filepath.Join(dir, "nothing"): fetch.Failed,
	} {
		_, err := fetcher(ref).Fetch(t.Context(), platform)
		wantReason(t, ref, err, reason)
		if err != nil && !strings.HasPrefix(err.Error(), "policy "+ref+" of the organization: ") {
			t.Errorf("%s: message %v", ref, err)
		}
	}
	for ref, reason := range map[string]string{
		"embedded:nothing": fetch.InvalidReference, "example.com/rules@v1": fetch.InvalidReference, "oci-layout:rules": fetch.NotAllowed, "git::http://example.com/rules": fetch.InvalidReference,
	} {
		wantReason(t, ref, fetch.Organization{Policies: []string{ref}}.Check(), reason)
	}
	platform.Spec.Policies = []v1alpha1.CueRef{{Type: v1alpha1.CueRefPath, Ref: dir}}
	_, err = all.Fetch(t.Context(), platform)
	wantReason(t, "a directory in a Transform", err, fetch.NotAllowed)
}
