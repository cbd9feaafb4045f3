package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// argocd builds Argo CD's server of plugins, with the client of its repo server. The first
// build compiles 1,200 packages, which takes five minutes of CPU time.
func argocd(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "argocd")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir, cmd.Stderr = "test/argocd", os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return program
}

// plugins starts the server of the plugin that docs/gitops.md shows, and returns its home
// directory and the environment of its clients. The server ends with the test.
func plugins(t *testing.T, program string) (home string, env []string) {
	t.Helper()
	// The directory is short, because the path of a socket has at most 107 bytes.
	home, err := os.MkdirTemp("", "argocd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	writeFile(t, filepath.Join(home, "config", "plugin.yaml"), listings(t, "docs/gitops.md")["clusters/argocd-plugin.yaml"], 0o644)
	pequodIn(t, filepath.Join(home, "bin"))
	env = []string{
		"PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + home,
		"ARGOCD_PLUGINSOCKFILEPATH=" + home, "ARGOCD_CMP_WORKDIR=" + home,
	}
	var log bytes.Buffer
	server := exec.Command(program, "server", "--config-dir-path", filepath.Join(home, "config"))
	server.Env, server.Stderr = env, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // the log has the reason
		close(ended)
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended
		<-ended
		if t.Failed() {
			t.Logf("the server:\n%s", &log)
		}
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(home, "pequod.sock")); err == nil {
			return home, env
		}
		select {
		case <-ended:
			t.Fatal("the server ended")
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the server doesn't listen")
		}
	}
}

// TestArgoPlugin runs the plugin that docs/gitops.md shows in Argo CD's own server, and asks
// it as the repo server does: it sends the repository to the plugin that discovers the
// directory of the Application, and gets manifests or an error.
func TestArgoPlugin(t *testing.T) {
	program := argocd(t)
	home, env := plugins(t, program)
	for name, test := range map[string]struct {
		settings, in    string // pequod.yaml and its directory
		path            string // of the Application
		parameter, port string
		want            []string // kinds and namespaces of the manifests
		err             string
	}{
		"graphs":           {settings: settings, port: "8080", want: []string{"ResourceGraph preview"}},
		"default format":   {settings: settings, port: "8080", parameter: "graph", want: []string{"ResourceGraph preview"}},
		"plain manifests":  {settings: settings, port: "8080", parameter: "resources", want: []string{"Deployment preview", "Service preview"}},
		"committed output": {settings: settings + "output-dir: graphs\nprune: true\n", port: "8080", want: []string{"ResourceGraph preview"}},
		"a subdirectory":   {settings: settings, in: "teams/shop", path: "teams/shop", port: "8080", want: []string{"ResourceGraph preview"}},
		"not discovered":   {settings: settings, path: "apps", port: "8080", err: "could not find plugin supporting the given repository"},
		"wrong instance":   {settings: settings, port: "70000", err: "apps/web.yaml:6:9: spec.port: "},
		"wrong parameter":  {settings: settings, port: "8080", parameter: "helm", err: "--format"},
		"hostile parameter": {
			settings: settings, port: "8080", parameter: "$(touch $HOME/pwned)\"; touch $HOME/pwned; \"", err: "--format",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := checkout(t, newJob(t, "{}"), map[string]string{
				filepath.Join(test.in, "pequod.yaml"):   test.settings,
				filepath.Join(test.in, "apps/web.yaml"): strings.NewReplacer("8080", test.port, ", namespace: shop", "").Replace(webYAML),
			})
			args := []string{"render", dir, test.path, "ARGOCD_APP_NAME=shop", "ARGOCD_APP_NAMESPACE=preview", "KUBE_VERSION=1.36.0"}
			if test.parameter != "" {
				args = append(args, "PARAM.format="+test.parameter)
			}
			cmd := exec.Command(program, args...)
			cmd.Env = env
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if (err != nil) != (test.err != "") || !strings.Contains(stderr.String(), test.err) {
				t.Fatalf("%v:\n%s\nwant %s", err, &stderr, test.err)
			}
			if _, err := os.Stat(filepath.Join(home, "pwned")); err == nil {
				t.Error("the parameter was executed")
			}
			if test.err == "" {
				checkAnswer(t, out, test.want)
			}
		})
	}
}

// checkAnswer checks the answers of the server: the announced parameters and the manifests.
func checkAnswer(t *testing.T, out []byte, want []string) {
	t.Helper()
	var answer struct {
		Parameters struct {
			ParameterAnnouncements []struct{ Name, Title, Tooltip, String string }
		}
		Manifests []string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if p := answer.Parameters.ParameterAnnouncements; len(p) != 1 || p[0].Name != "format" || p[0].Title != "Format" || p[0].String != "graph" {
		t.Errorf("parameters: %+v", p)
	}
	var got []string
	for _, manifest := range answer.Manifests {
		var object struct {
			Kind     string
			Metadata struct{ Namespace string }
		}
		if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
			t.Fatalf("%v:\n%s", err, manifest)
		}
		got = append(got, object.Kind+" "+object.Metadata.Namespace)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v; want %v", got, want)
	}
}
