package clusterscripts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pequod-io/pequod/test/harness"
)

const mcpGraph = `apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: web}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:
    - {id: settings, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {size: small}}}
`

// TestMCP reads a cluster through the tools of pequod mcp --allow-cluster, as a client of the
// protocol. The tools send no request that writes.
func TestMCP(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	// The server starts its own program, which must have the name of the command.
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "pequod")
	if err := os.Link(self, program); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "graph.yaml"), []byte(mcpGraph), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.WriteKubeconfig(t, proxy.Config(c.Config)), "PEQUOD_NAMESPACE="+c.Namespace)
		return cmd
	}
	if out, err := command("apply", "-f", "graph.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: command("mcp", "--allow-cluster")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close() // the test has its answers
	ask := func(tool string, args map[string]any) string {
		t.Helper()
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	proxy.Reset()
	files := map[string]any{"files": []string{"graph.yaml"}}
	if got := ask("diff", files); !strings.Contains(got, `"ok":true`) || strings.Contains(got, "large") {
		t.Errorf("diff after apply: %s", got)
	}
	if err := os.WriteFile(filepath.Join(work, "graph.yaml"), []byte(strings.Replace(mcpGraph, "small", "large", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask("diff", files); !strings.Contains(got, `"ok":true`) || !strings.Contains(got, `"large"`) || !strings.Contains(got, `"small"`) {
		t.Errorf("diff after an edit: %s", got)
	}
	for want, args := range map[string]map[string]any{
		`"ready":true`:    {"names": []string{"web"}},
		`"complete":true`: {"namespace": c.Namespace},
	} {
		if got := ask("status", args); !strings.Contains(got, `"ok":true`) || !strings.Contains(got, want) {
			t.Errorf("status %v: %s; want %s", args, got, want)
		}
	}
	if got := ask("status", map[string]any{"names": []string{"--watch"}}); !strings.Contains(got, `"ok":false`) {
		t.Errorf("status of a flag: %s", got)
	}
	// A module that names files outside of the directory doesn't get them.
	if runtime.GOOS == "linux" {
		for file, text := range map[string]string{
			"elsewhere/cue.mod/module.cue":       `module: "example.com/types@v1", language: version: "v0.13.0"`,
			"elsewhere/types.cue":                "package types\n\n#Port: int",
			"work/shop/cue.mod/module.cue":       `module: "example.com/shop@v0", language: version: "v0.17.0", deps: "example.com/types@v1": v: "v1.4.0"`,
			"work/shop/cue.mod/local-module.cue": `deps: "example.com/types@v1": replaceWith: "../../elsewhere"`,
			"work/shop/module.cue":               "package shop\n\nimport \"example.com/types\"\n\n#Platform: kind: \"Shop\"\n#Input: port: types.#Port\n",
			"work/shop.yaml":                     "{apiVersion: pequod.io/v1alpha1, kind: Shop, metadata: {name: a}, spec: {port: 1}}",
		} {
			name := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ask("diff", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"shop"}}); !strings.Contains(got, "permission denied") {
			t.Errorf("diff with files outside of the directory: %s", got)
		}
	}
	dry := 0
	for _, r := range proxy.Requests() {
		if r.Write() {
			t.Errorf("%s %s %s writes", r.Verb, r.Resource, r.Name)
		}
		if r.DryRun {
			dry++
		}
	}
	if dry == 0 {
		t.Error("diff sent no dry run: the requests were not recorded")
	}
	if got := c.Get(t, "v1", "ConfigMap", "settings").Object["data"]; got.(map[string]any)["size"] != "small" {
		t.Errorf("the cluster has %v", got)
	}
}
