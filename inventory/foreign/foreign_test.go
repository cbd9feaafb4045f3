package foreign

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/internal/jsonlimit"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestParseSource(t *testing.T) {
	for _, test := range []struct{ text, want, wantErr string }{
		{text: "flux:apps/web", want: "Kustomization apps/web"},
		{text: "helm:web", want: "release shop/web"},
		{text: "argocd:web", want: "Application argocd/web"},
		{text: "argocd:team/web", want: "Application team/web"},
		{text: "web", wantErr: `"web": want TOOL:NAMESPACE/NAME, where TOOL is one of flux, kpt, cli-utils, kapp, helm, argocd`},
		{text: "Flux:web", wantErr: `"Flux:web": want TOOL:NAMESPACE/NAME, where TOOL is one of flux, kpt, cli-utils, kapp, helm, argocd`},
		{text: "flux:", wantErr: `"flux:": want flux:NAMESPACE/NAME`},
		{text: "flux:/web", wantErr: `"flux:/web": want flux:NAMESPACE/NAME`},
		{text: "flux:a/b/c", wantErr: `"flux:a/b/c": want flux:NAMESPACE/NAME`},
	} {
		s, err := ParseSource(test.text, "shop")
		got, gotErr := "", ""
		if err != nil {
			gotErr = err.Error()
		} else {
			got = s.String()
		}
		if got != test.want || gotErr != test.wantErr {
			t.Errorf("%q: %q, error %q", test.text, got, gotErr)
		}
	}
}

// secretOf returns a Secret with a release of Helm.
func secretOf(t *testing.T, json string) *unstructured.Unstructured {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(json)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	release := base64.StdEncoding.EncodeToString(b.Bytes())
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Secret", "data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(release))},
	}}
}

// TestReleaseIsBounded checks that a small Secret can't fill the memory.
func TestReleaseIsBounded(t *testing.T) {
	bomb := `{"manifest": "` + strings.Repeat(" ", releaseLimit) + `"}`
	if _, err := decodeRelease(secretOf(t, bomb)); err == nil || err.Error() != "is larger than 32 MiB" {
		t.Errorf("error %v", err)
	}
	hooks := `{"hooks": [` + strings.Repeat("{},", jsonlimit.Document.Values) + `{}]}`
	if _, err := decodeRelease(secretOf(t, hooks)); err == nil || err.Error() != "it has more than 200000 values" {
		t.Errorf("got %v", err)
	}
	release, err := decodeRelease(secretOf(t, `{"manifest": "a: b"}`))
	if err != nil || release.Manifest != "a: b" {
		t.Errorf("%v, error %v", release, err)
	}
}

func TestManifestObjects(t *testing.T) {
	ids, err := manifestObjects(`
# Source: empty.yaml
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}}
`, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range ids {
		got = append(got, Text(id))
	}
	if diff := cmp.Diff([]string{"ConfigMap shop/a", "ConfigMap other/b", "Deployment.apps shop/c"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := manifestObjects("{kind: ConfigMap}", "shop"); err == nil {
		t.Error("an object without a name is accepted")
	}
}

// Flux reads labels, too, the other tools only annotations.
func TestKeptBy(t *testing.T) {
	const prune, policy = "kustomize.toolkit.fluxcd.io/prune", "helm.sh/resource-policy"
	for _, test := range []struct {
		tool                Tool
		labels, annotations map[string]string
		want                string
	}{
		{Flux, nil, map[string]string{prune: "Disabled"}, prune + ": disabled"},
		{Flux, map[string]string{prune: "disabled"}, nil, prune + ": disabled"},
		{Flux, nil, map[string]string{policy: "keep"}, ""},
		{Helm, map[string]string{policy: "keep"}, nil, ""},
		{Helm, nil, map[string]string{policy: "keep"}, policy + ": keep"},
	} {
		live := &unstructured.Unstructured{}
		live.SetLabels(test.labels)
		live.SetAnnotations(test.annotations)
		if got := KeptBy(test.tool, live); got != test.want {
			t.Errorf("%s, labels %v, annotations %v: %q; want %q", test.tool, test.labels, test.annotations, got, test.want)
		}
	}
}
