package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/modules/archive"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestArtifacts runs two replicas with the rights of the installation: the leader renders the
// instances of a GitRepository, both serve the artifact, and the second goes on when the first ends.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	const fluxVersion = "source.toolkit.fluxcd.io/v1"
	c, _ := deployed.Install(t)
	for _, file := range []string{"externalartifacts.yaml", "sources.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "operator", "source", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(text))
	}
	var content [2][]byte
	for i, image := range []string{"v1", "v2"} {
		var err error
		content[i], err = archive.Pack([]archive.File{{Name: "apps/web.yaml", Data: []byte("apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\n" +
			"spec: {image: 'ghcr.io/example/web:" + image + "', port: 80}\n")}}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
	}
	sources := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(content[r.URL.Path[len(r.URL.Path)-1]-'1'])
	}))
	t.Cleanup(sources.Close)
	push := func(i int) {
		t.Helper()
		c.SetStatus(t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": map[string]any{
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(content[i])), "path": "apps", "url": fmt.Sprint(sources.URL, "/", i+1),
			"revision": fmt.Sprint("main@sha1:", i+1), "lastUpdateTime": "2026-01-01T00:00:00Z",
		}})
	}
	var addresses [2]string
	var replicas [2]*process.Process
	for i := range replicas {
		addresses[i] = process.FreeAddress(t)
		replicas[i] = start(t, c, "--artifact-bind-address="+addresses[i], "--artifact-url=http://"+addresses[i])
	}
	c.Apply(t, webService(process.Namespace))
	c.Apply(t, "{apiVersion: "+fluxVersion+", kind: GitRepository, metadata: {name: apps}}")
	push(0)
	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: InstanceSource, metadata: {name: apps}, spec: {sourceRef: {kind: GitRepository, name: apps}, path: apps}}")
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "InstanceSource", c.Namespace, "apps", "Ready", "True", "Succeeded")
	externals := c.Await(t, fluxVersion, "ExternalArtifact", c.Namespace)
	// served waits until a replica serves an artifact that has a text, and its address is that of
	// another replica.
	served := func(text, named, by string) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			object, err := externals.Get(ctx, "apps", metav1.GetOptions{})
			if err != nil {
				return err
			}
			url, _, _ := unstructured.NestedString(object.Object, "status", "artifact", "url")
			rest, found := strings.CutPrefix(url, "http://"+named+"/")
			if !found {
				return fmt.Errorf("the address is %s", url)
			}
			code, body, err := process.Get(ctx, "http://"+by+"/"+rest, "")
			if err != nil || code != http.StatusOK {
				return errors.Join(err, fmt.Errorf("status %d: %s", code, body))
			}
			files, err := archive.Unpack(bytes.NewReader([]byte(body)), archive.Options{Bytes: 1 << 20, Files: 10, Read: 1 << 20})
			if err != nil || len(files) != 1 || !bytes.Contains(files[0].Data, []byte(text)) {
				return errors.Join(err, fmt.Errorf("files %s", files))
			}
			return nil
		})
	}
	served("web:v1", addresses[0], addresses[0])
	served("web:v1", addresses[0], addresses[1])
	replicas[0].Stop(t)
	push(1)
	served("web:v2", addresses[1], addresses[1])
	for _, p := range replicas {
		for _, line := range p.Log.Lines() {
			if strings.Contains(line, "forbidden") {
				t.Errorf("a right is missing: %s", line)
			}
		}
	}
}
