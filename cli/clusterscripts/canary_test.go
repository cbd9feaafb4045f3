package clusterscripts_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
)

// Canaries are values of Secrets in the cluster. No command may print them.
const (
	canaryExternal = "Kanarienvogel-42" // of a Secret that graphs only read
	canaryTaken    = "Rotkehlchen-43"   // of a Secret that a graph adopts
	canaryDrift    = "Zaunkoenig-44"    // written to a Secret of a graph by others
	canaryLeft     = "Blaumeise-45"     // of a Secret that leaves its graph
	canaryKey      = "gimpel-46"        // a key of the first
)

// secretsGraph reads, copies, adopts, changes and misuses Secrets.
const secretsGraph = `apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  graph:
    nodes:
    - {id: victim, externalRef: {apiVersion: v1, kind: Secret, name: victim}}
    - id: copy
      resource: {apiVersion: v1, kind: Secret, metadata: {name: copy}, data: {k: {$from: victim.data.password}}}
    - id: taken
      applyPolicy: {mode: Adopt}
      resource: {apiVersion: v1, kind: Secret, metadata: {name: taken}, stringData: {password: "{$from}"}}
    - id: immutable
      resource: {apiVersion: v1, kind: Secret, metadata: {name: fixed}, immutable: true, data: {k: {$from: victim.data.password}}}
    - id: invalid
      resource: {apiVersion: v1, kind: Secret, metadata: {name: invalid}, type: kubernetes.io/tls, data: {k: {$from: victim.data.password}}}
    - id: late
      resource: {apiVersion: v1, kind: Secret, metadata: {name: late}, data: {k: {$from: "string(int(victim.data.password))"}}}
`

// hostileGraphs are refused, and so must not show what they name.
var hostileGraphs = map[string]string{
	"config":  `{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: {$from: victim.data.password}}}}`,
	"keys":    `{id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c}, data: {$from: "{victim.data.password: 'eA=='}"}}}`,
	"quoted":  `{id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c}, data: {k: {$from: "victim.data.password + '!'"}}}}`,
	"ready":   `{id: other, externalRef: {apiVersion: v1, kind: Secret, name: taken}, readyWhen: [{type: Expression, expr: "object.data.password == 'x'"}]}`,
	"missing": `{id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c}, data: {k: {$from: "victim.metadata[victim.data.password]"}}}}`,
}

// TestCommandsShowNoSecrets runs every command that reads the cluster, in every format,
// on graphs with Secrets, and searches its output, the files that it writes, and the
// objects in the cluster for values of the Secrets.
func TestCommandsShowNoSecrets(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Others wrote these Secrets before the graph is applied.
	c.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: victim, annotations: {example.com/copy: `+canaryExternal+`}}, stringData: {password: `+canaryExternal+`, `+canaryKey+`: x}}
---
{apiVersion: v1, kind: Secret, metadata: {name: taken}, stringData: {password: `+canaryTaken+`, more: `+canaryTaken+`}}`)
	graph := strings.Replace(secretsGraph, `"{$from}"`, "mine", 1)
	write("graph.yaml", graph)
	head, _, _ := strings.Cut(graph, "    - id: copy\n")
	for name, node := range hostileGraphs {
		write(name+".yaml", strings.Replace(head, "{name: web}", "{name: "+name+"}", 1)+"    - "+node+"\n")
	}
	withLeft := strings.Replace(graph, "    - id: invalid\n", "    - {id: left, resource: {apiVersion: v1, kind: Secret, metadata: {name: left}}}\n    - id: invalid\n", 1)
	write("left.yaml", withLeft)

	said := map[string]string{}
	run := func(args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "pequod", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PEQUOD_NAMESPACE="+c.Namespace, "HOME="+dir, "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		said[strings.Join(args, " ")] = string(out)
		if err != nil && cmd.ProcessState.ExitCode() < 0 || strings.Contains(string(out), "unknown flag") || strings.Contains(string(out), "unknown command") {
			t.Fatalf("pequod %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	everything := func() {
		t.Helper()
		for _, format := range []string{"text", "wide", "json", "yaml", "dot"} {
			run("status", "web", "-o", format)
			run("status", "-o", format)
			run("status", "-f", "graph.yaml", "--allow-secrets", "-o", format)
		}
		for _, format := range []string{"text", "json", "markdown"} {
			run("diff", "-f", "graph.yaml", "--allow-secrets", "-o", format)
		}
		for _, mode := range []string{"server", "client"} {
			run("apply", "-f", "graph.yaml", "--allow-secrets", "--dry-run="+mode)
			run("delete", "web", "--dry-run="+mode)
		}
		run("adopt", "-f", "graph.yaml", "--allow-secrets")
	}
	everything()
	run("apply", "-f", "left.yaml", "--allow-secrets", "--timeout", "10s", "-o", "json")
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	change := func(name, key, value string) {
		t.Helper()
		patch, err := json.Marshal(map[string]any{"data": map[string]any{key: []byte(value)}})
		if err == nil {
			_, err = secrets.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "others"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change("taken", "password", canaryDrift)
	change("copy", "k", canaryDrift)
	change("left", "k", canaryLeft)
	change("victim", "password", canaryExternal+"-2") // the immutable copy can't follow
	everything()
	run("apply", "-f", "graph.yaml", "--allow-secrets", "--timeout", "10s")
	change("taken", "password", canaryDrift)
	run("apply", "-f", "graph.yaml", "--allow-secrets", "--timeout", "10s", "--force-conflicts", "-o", "json")
	for name := range hostileGraphs {
		file := name + ".yaml"
		for _, format := range []string{"text", "json"} {
			run("apply", "-f", file, "--allow-secrets", "--timeout", "10s", "-o", format)
		}
		run("diff", "-f", file, "--allow-secrets")
		run("status", "-f", file, "--allow-secrets", "-o", "yaml")
		for _, format := range []string{"tree", "mermaid", "dot", "json"} {
			run("graph", "-f", file, "-o", format)
		}
		for _, format := range []string{"yaml", "json", "name"} {
			run("rbac", "generate", "-f", file, "--allow-escalation", "-o", format)
		}
		for _, format := range []string{"text", "json", "github", "gitlab", "sarif", "junit"} {
			run("validate", "-f", file, "-o", format)
		}
		for _, format := range []string{"yaml", "github", "gitlab", "sarif", "junit"} {
			run("render", "-f", file, "-o", format)
		}
	}
	run("delete", "web", "-o", "json")

	// Each command must have looked at the Secrets, or the search proves nothing.
	if text := said["diff -f graph.yaml --allow-secrets -o text"]; !strings.Contains(text, "Secret "+c.Namespace+"/taken") || !strings.Contains(text, "***") {
		t.Errorf("diff doesn't compare the Secrets:\n%s", text)
	}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		said["file "+path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.Client.EventsV1().Events(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"ConfigMaps": configMaps, "Events": events} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		said[name] = string(text)
	}
	for where, text := range said {
		for _, canary := range []string{canaryExternal, canaryTaken, canaryDrift, canaryLeft, canaryKey} {
			encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "=")
			for _, form := range []string{canary, encoded[:len(encoded)-1]} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s has %q: …%s…", where, form, text[max(0, i-300):min(len(text), i+100)])
				}
			}
		}
	}
}
