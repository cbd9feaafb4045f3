package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"io"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/source"
)

// TestRefusedFiles pushes files that can't be rendered. All of them keep the artifact.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	good := map[string]string{"apps/web.yaml": app("web", "{text: a}")}
	b.apps(good)
	b.rendered("main@sha1:1")
	_, first := b.external("apps")
	var many strings.Builder
	for i := range 12 {
		many.WriteString(app(fmt.Sprint("a", i), "{text: 1}") + "---\n")
	}
	const elsewhere = "; only instances are rendered, so keep other manifests in the directory of another Kustomization"
	for i, test := range []struct {
		name, file, text string
		reason, want     string
	}{
		{"another manifest", "apps/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "RenderFailed",
			"apps/cm.yaml:1:1: kind: no Transform generates the kind ConfigMap" + elsewhere},
		{"an unknown kind in a List", "apps/list.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: example.org/v1\n  kind: Database\n  metadata: {name: a}\n", "RenderFailed",
			"apps/list.yaml:4:3: kind: no Transform generates the kind Database of example.org" + elsewhere},
		{"a Transform", "apps/t.yaml", "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\n", "RenderFailed",
			"apps/t.yaml:1:1: kind: Transform is not an instance; only instances are rendered, so keep it in the directory of another Kustomization"},
		{"no kind", "apps/values.yaml", "image: nginx\n", "RenderFailed", "apps/values.yaml:1:1: not an object with apiVersion, kind and metadata"},
		{"no YAML", "apps/a.yml", "a: [\n", "RenderFailed", "apps/a.yml:1:1: not YAML: did not find expected node content"},
		{"pequod.yaml", "apps/team/pequod.yaml", "filename: [.]\n", "RenderFailed",
			"apps/team/pequod.yaml: modules and policies are those of the Transforms in the cluster; keep this file out of ./apps"},
		{"pequod.lock", "apps/pequod.lock", "{}", "RenderFailed",
			"apps/pequod.lock: modules and policies are those of the Transforms in the cluster; keep this file out of ./apps"},
		{"a duplicate", "apps/web2.yaml", app("web", "{text: b}"), "RenderFailed",
			"apps/web2.yaml:1:1: App " + b.Namespace + "/web stands at apps/web.yaml:1:1 already"},
		{"an object of two", "apps/web2.yaml", app("web2", "{text: b, name: web}"), "RenderFailed",
			"apps/web2.yaml:1:1: configmap " + b.Namespace + "/web is rendered by apps/web.yaml:1:1 already"},
		{"a violation", "apps/bad.yaml", app("bad", "{text: forbidden}"), "RenderFailed", "apps/bad.yaml:4:14: spec.text: must not be forbidden (inline[main.cue]:19:17)"},
		{"many documents", "apps/many.yaml", strings.Repeat("a: 1\n---\n", 160_000), "RenderFailed", noKinds() + "\n(and 90 more)"},
		{"many mistakes", "apps/many.yaml", many.String(), "RenderFailed", manyMistakes() + "\n(and 2 more)"},
	} {
		revision := fmt.Sprint("main@sha1:1", i)
		b.push(revision, map[string]string{"apps/web.yaml": good["apps/web.yaml"], test.file: test.text})
		in := b.failed(test.reason, test.want)
		if in.Status.ObservedSourceRevision == revision || !apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) {
			t.Errorf("%s: status %+v", test.name, in.Status)
		}
	}
	b.push("main@sha1:2", map[string]string{"README.md": "", "web.yaml": app("web", "{text: a}")})
	b.failed("NoInstances", "artifact main@sha1:2 has no YAML or JSON files in ./apps")
	b.push("main@sha1:3", map[string]string{"apps/empty.yaml": "# none\n"})
	b.failed("NoInstances", "the files in ./apps have no instances")
	if b.errors.Load() == 0 {
		t.Error("the failures aren't counted")
	}
	if _, last := b.external("apps"); last.Revision != first.Revision || len(b.download(last)) != 1 {
		t.Errorf("artifact %+v; want %+v", last, first)
	}
	// Without a path, all of the artifact counts.
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}}")
	b.push("main@sha1:4", good)
	b.rendered("main@sha1:4")
}

// noKinds are the first ten of a file of documents without a kind.
func noKinds() string {
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("apps/many.yaml:%d:1: not an object with apiVersion, kind and metadata", 2*i+1))
	}
	return strings.Join(lines, "\n")
}

// manyMistakes are the first ten of twelve mistakes.
func manyMistakes() string {
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("apps/many.yaml:%d:14: spec.text: must be a string, not 1; write \"1\" (inline[main.cue]:6:8)", 5*i+4))
	}
	return strings.Join(lines, "\n")
}

// TestRefusedArtifacts gives a GitRepository artifacts that can't be used.
func TestRefusedArtifacts(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.repository("apps")
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}}")
	name := "GitRepository " + b.Namespace + "/apps"
	b.failed("SourceNotReady", name+" has no artifact yet")
	good := packed(t, map[string]string{"web.yaml": app("web", "{text: a}")})
	many := map[string]string{}
	for i := range 16 {
		many[fmt.Sprintf("%02d.yaml", i)] = app("web", "["+strings.Repeat("1,", 190_000)+"]")
	}
	for i, test := range []struct {
		name         string
		data         []byte
		fields       map[string]any
		reason, want string
	}{
		{"wrong digest", good, map[string]any{"digest": "sha256:00"}, "ArtifactInvalid", "the archive doesn't have the digest sha256:00"},
		{"unknown digest", good, map[string]any{"digest": "blake3:00"}, "ArtifactInvalid", `its digest "blake3:00" is none of sha256, sha384 and sha512`},
		{"no HTTP", good, map[string]any{"url": "file:///etc/passwd"}, "FetchFailed", "file:///etc/passwd is not an address of HTTP"},
		{"absent", good, map[string]any{"url": b.sources.URL + "/absent"}, "FetchFailed", b.sources.URL + "/absent answered 404 Not Found: 404 page not found; check the source and its controller"},
		{"redirect", good, map[string]any{"url": b.sources.URL + "/moved"}, "FetchFailed", b.sources.URL + "/moved answered 302 Found; check the source and its controller"},
		{"no archive", []byte("kind: App\n and more text"), nil, "ArtifactInvalid", "not a tar+gzip archive: gzip: invalid header"},
		{"cut off", good[:len(good)-9], nil, "ArtifactInvalid", "not a tar+gzip archive: unexpected EOF"},
		{"a link", hostile(t, tar.Header{Name: "web.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), nil, "ArtifactInvalid", `"web.yaml" in it is not a regular file`},
		{"many values", packed(t, many), nil, "ArtifactInvalid", "the files up to 10.yaml have more than 2000000 values and lines; divide the instances among several directories"},
		{"a large file", hostile(t, tar.Header{Name: "web.yaml", Typeflag: tar.TypeReg, Size: 16<<20 + 1}), nil, "ArtifactInvalid", "more than 16 MiB of files"},
	} {
		revision := fmt.Sprint("main@sha1:", i)
		a := b.artifact(revision, test.data)
		for field, value := range test.fields {
			a[field] = value
		}
		b.SetStatus(t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": a})
		b.failed(test.reason, "artifact "+revision+": "+test.want)
	}
	// The other digests that Flux can be set to.
	a := b.artifact("main@sha1:good", good)
	a["digest"] = fmt.Sprintf("sha512:%x", sha512.Sum512(good))
	b.SetStatus(t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": a})
	b.rendered("main@sha1:good")
}

// hostile returns an archive with one entry, whose content is zeros.
func hostile(t *testing.T, header tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&header)
	if err == nil {
		_, err = io.CopyN(w, zeros{}, header.Size)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestCrossNamespace refers to a source of another namespace.
func TestCrossNamespace(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps, namespace: default}}")
	b.failed("SourceNotFound", "GitRepository default/apps doesn't exist")
	b.stop()
	b.options = source.Options{NoCrossNamespace: true}
	b.start()
	in := b.failed("AccessDenied", "spec.sourceRef.namespace: GitRepository default/apps is in another namespace, which --no-cross-namespace-refs of pequod-manager forbids")
	if !apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("status %+v", in.Status)
	}
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps, namespace: "+b.Namespace+"}}")
	b.failed("SourceNotFound", "GitRepository "+b.Namespace+"/apps doesn't exist")
}
