package distribute

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// TestSignedBeforeTag publishes with --sign-key: whoever finds the tag must find the signature,
// so the tag is the last manifest that is written.
func TestSignedBeforeTag(t *testing.T) {
	var mu sync.Mutex // guards written
	var written []string
	files := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, name, ok := strings.Cut(r.URL.Path, "/manifests/"); ok && r.Method == http.MethodPut {
			mu.Lock()
			written = append(written, name)
			mu.Unlock()
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cosign.key":              string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"web.yaml":                "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web, namespace: shop}\nspec: {image: \"nginx:1.27\", port: 80}\n",
		"shop/cue.mod/module.cue": "module: \"example.com/shop@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"shop/shop.cue":           "package shop\n#Input: {}\n#Render: {input: metadata: {name: string, namespace: string}, input: spec: #Input, output: nodes: {}}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := strings.TrimPrefix(server.URL, "http://")
	for name, test := range map[string]struct {
		command func(command.Env) *cobra.Command
		args    []string
	}{
		"module":                    {newPushCommand, []string{"shop", "oci://" + host + "/module:v1.0.0"}},
		"bundle with provenance":    {newBundlePushCommand, []string{"oci://" + host + "/bundle:1.0.0", "-f", "web.yaml"}},
		"bundle without provenance": {newBundlePushCommand, []string{"oci://" + host + "/bare:1.0.0", "-f", "web.yaml", "--provenance=false"}},
	} {
		written = nil
		var stdout, stderr bytes.Buffer
		cmd := test.command(command.Env{Out: &stdout, Err: &stderr, Getenv: os.LookupEnv})
		cmd.SetArgs(append(test.args, "--sign-key", "cosign.key"))
		cmd.SetErr(&stderr)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, &stderr)
			continue
		}
		tags := slices.DeleteFunc(slices.Clone(written), func(n string) bool { return strings.HasPrefix(n, "sha256") })
		if len(written) < 3 || len(tags) != 1 || written[len(written)-1] != tags[0] {
			t.Errorf("%s: written in the order %q", name, written)
		}
		if !strings.Contains(stderr.String(), "signed with key sha256:") {
			t.Errorf("%s: %s", name, &stderr)
		}
	}
}
