package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/modules/archive"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// repositories are the GitRepositories of a test with the platform webservice, and the server that
// source-controller would be.
type repositories struct {
	*harness.Cluster
	server *httptest.Server
	mu     sync.Mutex // guards files
	files  map[string][]byte
}

// withRepositories installs the manager and the kinds of Flux in a cluster of its own.
func withRepositories(t *testing.T) *repositories {
	t.Helper()
	c, _ := deployed.Install(t)
	r := &repositories{Cluster: c, files: map[string][]byte{}}
	for _, file := range []string{"externalartifacts.yaml", "sources.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "operator", "source", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(text))
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = w.Write(r.files[request.URL.Path])
	}))
	t.Cleanup(r.server.Close)
	c.Apply(t, webService(process.Namespace))
	return r
}

// push makes WebServices, each with 640 KB of random text, the artifact of a GitRepository. Revisions
// with the same seed have the same text. With the seed 0 it is short, and another one for each revision. The graphs are the same in each namespace.
func (r *repositories) push(t *testing.T, name string, revision, services int, seed byte) {
	t.Helper()
	var all []archive.File
	random := rand.NewChaCha8([32]byte{seed})
	for i := range services {
		data := make([]byte, 480_000)
		if _, err := random.Read(data); err != nil {
			t.Fatal(err)
		}
		if seed == 0 {
			data = fmt.Append(nil, revision)
		}
		all = append(all, archive.File{Name: fmt.Sprintf("%d.yaml", i), Data: fmt.Appendf(nil, "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: %s-%d, namespace: shop}\nspec: {image: 'ghcr.io/example/web:v1', port: 80, config: {files: {noise: %s}}}\n",
			name, i, base64.StdEncoding.EncodeToString(data))})
	}
	r.publish(t, name, revision, all)
}

// publish makes files the artifact of a GitRepository.
func (r *repositories) publish(t *testing.T, name string, revision int, all []archive.File) {
	t.Helper()
	packed, err := archive.Pack(all, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/%s/%d", name, revision)
	r.mu.Lock()
	r.files[path] = packed
	r.mu.Unlock()
	r.Apply(t, "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: "+name+"}}")
	r.SetStatus(t, "source.toolkit.fluxcd.io/v1", "GitRepository", name, map[string]any{"artifact": map[string]any{
		"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(packed)), "path": name, "url": r.server.URL + path,
		"revision": fmt.Sprint("main@sha1:", revision), "lastUpdateTime": "2026-01-01T00:00:00Z",
	}})
}

// render makes an InstanceSource of a GitRepository.
func (r *repositories) render(t *testing.T, namespace, name, repository string) {
	t.Helper()
	r.Apply(t, fmt.Sprintf("{apiVersion: platform.pequod.io/v1alpha1, kind: InstanceSource, metadata: {name: %s, namespace: %s}, spec: {sourceRef: {kind: GitRepository, name: %s, namespace: %s}}}",
		name, namespace, repository, r.Namespace))
}

// remove deletes an InstanceSource.
func (r *repositories) remove(t *testing.T, namespace, name string) {
	t.Helper()
	if err := r.Await(t, "platform.pequod.io/v1alpha1", "InstanceSource", namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ready waits until an InstanceSource is ready with a revision, and returns the address of its artifact.
func (r *repositories) ready(t *testing.T, namespace, name string, revision int) string {
	t.Helper()
	sources, externals := r.Await(t, "platform.pequod.io/v1alpha1", "InstanceSource", namespace), r.Await(t, "source.toolkit.fluxcd.io/v1", "ExternalArtifact", namespace)
	hasCondition(t, r.Cluster, "platform.pequod.io/v1alpha1", "InstanceSource", namespace, name, "Ready", "True", "Succeeded")
	var address string
	harness.Eventually(t, patience, func(ctx context.Context) error {
		in, err := sources.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(in.Object, "status", "observedSourceRevision"); got != fmt.Sprint("main@sha1:", revision) {
			return fmt.Errorf("revision %s of %s", got, name)
		}
		external, err := externals.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			address, _, _ = unstructured.NestedString(external.Object, "status", "artifact", "url")
		}
		return err
	})
	return address
}

// refused waits until an InstanceSource is not ready for a reason, unless that is "", and with a message.
func (r *repositories) refused(t *testing.T, namespace, name, reason, message string) {
	t.Helper()
	sources, want := r.Await(t, "platform.pequod.io/v1alpha1", "InstanceSource", namespace), regexp.MustCompile(message)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		in, err := sources.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(in.Object, "status", "conditions")
		for _, entry := range conditions {
			c, _ := entry.(map[string]any)
			if text, _ := c["message"].(string); c["type"] == "Ready" && c["status"] == "False" && (reason == "" || c["reason"] == reason) && want.MatchString(text) {
				return nil
			}
		}
		return fmt.Errorf("%s isn't refused: %v", name, conditions)
	})
}

// stored waits until a number of objects stores archives.
func (r *repositories) stored(t *testing.T, references, parts int) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		all, err := r.Client.AppsV1().ControllerRevisions(process.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		gotReferences, gotParts := 0, 0
		for _, o := range all.Items {
			switch {
			case o.Annotations["pequod.io/instance-source"] != "":
				gotReferences++
			case o.Annotations["pequod.io/archive"] != "":
				gotParts++
			}
		}
		if gotReferences != references || gotParts != parts {
			return fmt.Errorf("%d references and %d parts; want %d and %d", gotReferences, gotParts, references, parts)
		}
		return nil
	})
}

// TestArtifactQuota fills the quotas of two namespaces and of the cluster with archives of 1.8 MiB,
// while the manager restarts. As it starts, it removes what an earlier version has stored.
func TestArtifactQuota(t *testing.T) {
	t.Parallel()
	r := withRepositories(t)
	a, b, c := r.Namespace, r.Namespace+"-b", r.Namespace+"-c"
	for _, name := range []string{b, c} {
		if _, err := r.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	address := process.FreeAddress(t)
	run := func(flags ...string) *process.Process {
		t.Helper()
		return start(t, r.Cluster, append(flags, "--artifact-bind-address="+address, "--artifact-url=http://"+address)...)
	}
	// The administrator writes what an earlier version would have stored: no build of one is at hand.
	api, err := client.New(r.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	earlier := blob.Store{Client: api, API: api, Namespace: process.Namespace, Field: "archive"}
	for _, name := range []string{"one", "deleted"} {
		data := []byte("an archive of " + name)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s\x00sha256:%x", a, name, sha256.Sum256(data)))
		b := blob.Blob{Name: fmt.Sprintf("pequod-artifact-%x", sum[:16]), Annotations: map[string]string{"pequod.io/instance-source": a + "/" + name}}
		if err := earlier.Save(t.Context(), b, data); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"first", "second", "third"} {
		r.push(t, name, 1, 4, byte(i+1))
	}
	sources := []string{"one", "two", "three"}
	for _, name := range sources {
		r.render(t, a, name, "first")
	}
	p := run("--artifact-namespace-quota=3", "--artifact-total-quota=5")
	for _, name := range sources {
		r.ready(t, a, name, 1)
	}
	r.stored(t, 3, 3) // one archive, and nothing of the earlier version

	const next = "; delete some of them, render fewer instances, or raise --artifact-%s-quota of pequod-manager$"
	ofNamespace := "^the archive has 1.8. MiB, and the InstanceSources of namespace %s use 1.8. MiB of 3.00 MiB" + fmt.Sprintf(next, "namespace")
	ofCluster := "^the archive has 1.8. MiB, and the InstanceSources of the cluster use 3.6. MiB of 5.00 MiB" + fmt.Sprintf(next, "total")
	r.render(t, a, "four", "second")
	r.refused(t, a, "four", "QuotaExceeded", fmt.Sprintf(ofNamespace, a))
	r.render(t, b, "four", "second") // another namespace
	r.ready(t, b, "four", 1)
	r.render(t, c, "four", "third")
	r.refused(t, c, "four", "QuotaExceeded", ofCluster)
	r.push(t, "first", 2, 4, 4)
	r.refused(t, a, "one", "QuotaExceeded", fmt.Sprintf(ofNamespace, a))
	r.stored(t, 4, 6)

	// A manager that is killed and starts again knows the same, and serves what was published.
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	r.push(t, "first", 3, 4, 1)
	p = run("--artifact-namespace-quota=3", "--artifact-total-quota=5")
	for _, name := range sources {
		url := r.ready(t, a, name, 3)
		if code, body, err := process.Get(t.Context(), url, ""); err != nil || code != http.StatusOK || len(body) < 1<<20 {
			t.Errorf("%s: %d, %d bytes, %v", url, code, len(body), err)
		}
	}
	r.render(t, b, "five", "third")
	r.refused(t, b, "five", "QuotaExceeded", fmt.Sprintf(ofNamespace, b))
	r.refused(t, a, "four", "QuotaExceeded", fmt.Sprintf(ofNamespace, a))
	r.stored(t, 4, 6)

	// The last InstanceSource with an archive makes room.
	for _, name := range sources[:2] {
		r.remove(t, a, name)
	}
	r.stored(t, 2, 6)
	began := time.Now()
	r.remove(t, a, "three")
	r.ready(t, a, "four", 1) // shares the archive of the other namespace
	r.ready(t, c, "four", 1)
	t.Logf("stored %s after there was room", time.Since(began).Round(time.Millisecond))
	r.stored(t, 3, 6)
	p.Stop(t)
	run("--artifact-namespace-quota=4", "--artifact-total-quota=5")
	r.ready(t, b, "five", 1)
	for _, of := range [][2]string{{a, "four"}, {b, "four"}, {b, "five"}, {c, "four"}} {
		r.remove(t, of[0], of[1])
	}
	r.stored(t, 0, 0)
}

// TestArtifactFlood stores an archive of 6.8 MB for eight InstanceSources, and then another one
// for each revision. The manager is killed while it stores the first.
func TestArtifactFlood(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it; TestArtifactQuota has smaller archives")
	}
	t.Parallel()
	r := withRepositories(t)
	before := r.etcd(t)
	address := process.FreeAddress(t)
	flags := []string{"--artifact-bind-address=" + address, "--artifact-url=http://" + address}
	r.push(t, "repo", 1, 14, 1)
	p := start(t, r.Cluster, flags...)
	r.render(t, r.Namespace, "s1", "repo")
	parts := func() int {
		all, err := r.Client.AppsV1().ControllerRevisions(process.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=pequod"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, o := range all.Items {
			if o.Annotations["pequod.io/archive"] != "" {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(patience); parts() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is stored")
		}
	}
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	t.Logf("killed with %d of 9 objects", parts())
	p = start(t, r.Cluster, flags...)
	for i := range 8 {
		r.render(t, r.Namespace, fmt.Sprint("s", i+1), "repo")
	}
	for i := range 8 {
		r.ready(t, r.Namespace, fmt.Sprint("s", i+1), 1)
	}
	r.stored(t, 8, 8)
	flooded := r.etcd(t)
	t.Logf("etcd: %.1f MB, and with eight InstanceSources %.1f MB", before/1e6, flooded/1e6)
	if flooded-before > 20e6 {
		t.Errorf("etcd grew by %.1f MB", (flooded-before)/1e6)
	}

	// 32 MiB at once are five of these archives, and the next one waits. Perhaps s1 has stored the first.
	for i := range 7 {
		r.remove(t, r.Namespace, fmt.Sprint("s", i+2))
	}
	for revision := 2; revision <= 4; revision++ {
		r.push(t, "repo", revision, 14, byte(revision))
		r.ready(t, r.Namespace, "s1", revision)
	}
	for revision, limited := 5, false; !limited && revision <= 8; revision++ { // meanwhile, there is room for more
		r.push(t, "repo", revision, 14, byte(revision))
		harness.Eventually(t, patience, func(ctx context.Context) error {
			in := r.Get(t, "platform.pequod.io/v1alpha1", "InstanceSource", "s1")
			text := fmt.Sprint(in.Object["status"])
			if limited = strings.Contains(text, "RateLimited"); !limited && !strings.Contains(text, fmt.Sprint("observedSourceRevision:main@sha1:", revision)) {
				return errors.New("neither stored nor refused")
			}
			return nil
		})
	}
	r.refused(t, r.Namespace, "s1", "RateLimited", `^the InstanceSource or its namespace has stored many archives lately; this one of 6\.[45]. MiB waits until 20..-..-..T..:..:..Z; `+
		`change the source less often, or render fewer instances$`)
	r.push(t, "small", 1, 1, 0)
	r.render(t, r.Namespace, "small", "small")
	r.ready(t, r.Namespace, "small", 1)
	for revision := 2; revision <= 10; revision++ {
		r.push(t, "small", revision, 1, 0)
		r.ready(t, r.Namespace, "small", revision)
	}
	t.Logf("etcd after all revisions: %.1f MB", r.etcd(t)/1e6)
	p.Stop(t)
}

// etcd returns the size of the database of etcd in bytes, by the metric of the API server.
func (r *repositories) etcd(t *testing.T) float64 {
	t.Helper()
	// Only an administrator may read the metrics of the API server.
	text, err := r.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var size float64
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "apiserver_storage_size_bytes{"); found {
			_, value, _ := strings.Cut(rest, "} ")
			if _, err := fmt.Sscan(value, &size); err != nil {
				t.Fatal(err)
			}
		}
	}
	return size
}
