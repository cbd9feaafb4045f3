package gitops

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
)

// TestDecryption has Flux decrypt a Secret beside the graphs, with SOPS and age. The graphs arrive as they
// were rendered.
func TestDecryption(t *testing.T) {
	e := start(t)
	key := filepath.Join(t.TempDir(), "age.agekey")
	tool := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command("../../bin/"+name, args...)
		cmd.Env = append(os.Environ(), "SOPS_AGE_KEY_FILE="+key)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(out)
	}
	tool("age-keygen", "-o", key)
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	recipient := regexp.MustCompile(`age1[0-9a-z]+`).FindString(string(secret))
	plain := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(plain, []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: database, namespace: shop}\nstringData: {password: open-sesame}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	r := newRepository(t)
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.render(t)
	r.roles(t)
	encrypted := tool("sops", "encrypt", "--age", recipient, "--encrypted-regex", "^(data|stringData)$", plain)
	if strings.Contains(encrypted, "open-sesame") {
		t.Fatal("the Secret is not encrypted")
	}
	r.write(t, "graphs/shop/secret.yaml", encrypted)
	first := r.commit(t, "A web service and a Secret")

	e.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: sops-age, namespace: %s}, data: {age.agekey: %s}}",
		runtime, base64.StdEncoding.EncodeToString(secret)))
	e.Apply(t, documented(t, "clusters/flux.yaml", "https://git.example.com/shop/deploy", r.url,
		"path: ./graphs", "path: ./graphs\n  decryption: {provider: sops, secretRef: {name: sops-age}}", "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.synced(t, "shop", first)

	secrets := e.Await(t, "v1", "Secret", "shop")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		o, err := secrets.Get(ctx, "database", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if password, _, _ := unstructured.NestedString(o.Object, "data", "password"); password != base64.StdEncoding.EncodeToString([]byte("open-sesame")) {
			return fmt.Errorf("password %q", password)
		}
		return nil
	})
	files, err := filepath.Glob(filepath.Join(r.dir, "graphs/shop/resourcegraph.*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d graphs: %v", len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var rendered unstructured.Unstructured
	if err := yaml.Unmarshal(text, &rendered.Object); err != nil {
		t.Fatal(err)
	}
	live, err := e.Await(t, platform, "ResourceGraph", "shop").Get(t.Context(), rendered.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	normal := func(o map[string]any) string {
		data, err := yaml.Marshal(o["spec"])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if diff := cmp.Diff(normal(rendered.Object), normal(live.Object)); diff != "" {
		t.Errorf("the graph (-rendered +live):\n%s", diff)
	}
}
