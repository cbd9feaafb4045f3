package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// argocd is the namespace of Argo CD.
const argocd = "argocd"

// startArgo starts a cluster, the applier, and the components of Argo CD that sync Applications, with
// the settings and roles of its own installation and the health check of docs/gitops.md. Plugins
// is a directory with the sockets of config management plugins.
func startArgo(t *testing.T, plugins string) *env {
	t.Helper()
	e := installed(t)
	e.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+argocd+"}}")
	in := *e.Cluster
	in.Namespace = argocd
	module := moduleOf(t, "argocd", "github.com/argoproj/argo-cd/v3")
	for _, files := range []string{"crds/app*-crd.yaml", "base/config/*-*.yaml", "base/application-controller-roles/*-*.yaml", "cluster-rbac/application-controller/*-*.yaml"} {
		applyFiles(t, &in, filepath.Join(module, "manifests", files))
	}
	// argocd-server, which doesn't run, creates this project.
	in.Apply(t, `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]`)
	settings, err := yaml.YAMLToJSON([]byte(documented(t, "clusters/argocd-cm.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Client.CoreV1().ConfigMaps(argocd).Patch(t.Context(), "argocd-cm", types.MergePatchType, settings, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	redis, repositories := process.FreeAddress(t), process.FreeAddress(t)
	e.component(t, nil, "redis", redis)
	harness.Eventually(t, patience, func(context.Context) error {
		conn, err := net.Dial("tcp", redis)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	programs, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	// The repo server looks for signatures of commits with this script of its image.
	const verify = "git-verify-wrapper.sh"
	script, err := os.ReadFile(filepath.Join(module, "hack", verify))
	if err != nil {
		t.Fatal(err)
	}
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, verify), script, 0o700); err != nil {
		t.Fatal(err)
	}
	probe := process.FreeAddress(t)
	repoServer := e.component(t, []string{
		"PATH=" + programs + ":" + scripts + ":" + os.Getenv("PATH"), "TMPDIR=" + checkouts(t),
		"ARGOCD_PLUGINSOCKFILEPATH=" + plugins, "ARGOCD_GPG_ENABLED=false",
	}, "argocd-repo-server", "--redis="+redis, "--address=127.0.0.1", "--port="+port(repositories),
		"--metrics-address=127.0.0.1", "--metrics-port="+port(probe), "--loglevel=warn")
	healthy(t, repoServer, probe)
	probe = process.FreeAddress(t)
	access := e.WriteKubeconfig(t, e.ServiceAccount(t, argocd, "argocd-application-controller"))
	controller := e.component(t, []string{"KUBECONFIG=" + access, "ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false"}, "argocd-application-controller",
		"--namespace="+argocd, "--redis="+redis, "--repo-server="+repositories,
		"--metrics-port="+port(probe), "--persist-resource-health", "--loglevel=warn")
	healthy(t, controller, probe)
	return e
}

// port returns the port of an address.
func port(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return port
}

// healthy waits until the health endpoint of a component returns 200.
func healthy(t *testing.T, p *process.Process, address string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		select {
		case <-p.Done:
			t.Fatal("the program has ended")
		default:
		}
		code, body, err := process.Get(ctx, "http://"+address+"/healthz", "")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
}

// checkouts returns a temporary directory for the repo server, which takes away the permissions of
// directories that it doesn't use.
func checkouts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error { // what stays, TempDir reports
			if d.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return dir
}

// component runs a component of Argo CD until the test ends.
func (e *env) component(t *testing.T, environment []string, name string, args ...string) *process.Process {
	t.Helper()
	p := &process.Process{Log: &process.Log{}, Done: make(chan error, 1)}
	p.Cmd = exec.Command("../../bin/argocd", append([]string{name}, args...)...)
	p.Cmd.Env = append(os.Environ(), environment...)
	p.Cmd.Stderr, p.Cmd.Stdout = p.Log, p.Log
	p.Run(t)
	return p
}

// app has the fields of an Application that the tests read.
type app struct {
	Metadata struct{ Annotations map[string]string }
	Status   struct {
		Sync struct {
			Status, Revision string
			Revisions        []string
		}
		Health     struct{ Status string }
		Conditions []struct{ Type, Message string }
		Resources  []struct {
			Kind, Name, Status string
			Health             struct{ Status, Message string }
		}
		History        []struct{ ID int64 }
		OperationState struct {
			Phase, Message, FinishedAt string
			Operation                  struct {
				Info []struct{ Name, Value string }
			}
			SyncResult struct {
				Resources []struct{ Kind, Name, Message, HookPhase, HookType string }
			}
		}
	}
}

// application reads an Application.
func (e *env) application(ctx context.Context, t *testing.T, name string) (*app, error) {
	t.Helper()
	o, err := e.Await(t, "argoproj.io/v1alpha1", "Application", argocd).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	a := &app{}
	return a, json.Unmarshal(data, a)
}

// becomes waits until an Application is as wanted, with the commit or digest, if any, that it has synced.
func (e *env) becomes(t *testing.T, name, sync, health, revision string) *app {
	t.Helper()
	var a *app
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if a, err = e.application(ctx, t, name); err != nil {
			return err
		}
		s := a.Status
		if s.Sync.Status != sync || s.Health.Status != health || revision != "" && !strings.Contains(fmt.Sprint(s.Sync.Revision, s.Sync.Revisions), revision) {
			return fmt.Errorf("want %s, %s, %s: %+v", sync, health, revision, s)
		}
		return nil
	})
	return a
}

// refresh has Argo CD compare an Application with its source now, as argocd app get --refresh or --hard-refresh
// does, and returns the result.
func (e *env) refresh(t *testing.T, name, how string) *app {
	t.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	var asked time.Time
	var a *app
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		// Argo CD overwrites its cache with what it has just written, and may so forget a request that
		// came meanwhile. Any other change brings it back.
		if now := time.Now(); now.Sub(asked) > time.Second {
			e.merge(t, "argoproj.io/v1alpha1", "Application", argocd, name,
				fmt.Sprintf(`{"metadata": {"annotations": {%q: %q, "test/asked": %q}}}`, annotation, how, now))
			asked = now
		}
		if a, err = e.application(ctx, t, name); err == nil && a.Metadata.Annotations[annotation] != "" {
			err = fmt.Errorf("the %s refresh is not done: %+v", how, a.Status)
		}
		return err
	})
	return a
}

// resource returns the health and the message of an object of an Application.
func (a *app) resource(kind, name string) (health, message string) {
	for _, r := range a.Status.Resources {
		if r.Kind == kind && strings.HasPrefix(r.Name, name) {
			return r.Health.Status, r.Health.Message
		}
	}
	return "", "no such object"
}

// operation waits until the sync of an Application is in a phase, with a message.
func (e *env) operation(t *testing.T, name, phase, message string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		a, err := e.application(ctx, t, name)
		if err != nil {
			return err
		}
		if o := a.Status.OperationState; o.Phase != phase || !strings.Contains(o.Message, message) {
			return fmt.Errorf("want %s, %q: %+v", phase, message, a.Status)
		}
		return nil
	})
}

// sync has Argo CD sync an Application now, as argocd app sync does, and returns the result.
func (e *env) sync(t *testing.T, name string) *app {
	t.Helper()
	token := fmt.Sprint(time.Now().UnixNano())
	e.merge(t, "argoproj.io/v1alpha1", "Application", argocd, name, fmt.Sprintf(
		`{"operation": {"initiatedBy": {"username": "test"}, "info": [{"name": "token", "value": %q}], "sync": {"prune": true, "syncOptions": ["ServerSideApply=true"]}}}`, token))
	var a *app
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if a, err = e.application(ctx, t, name); err != nil {
			return err
		}
		o := a.Status.OperationState
		if len(o.Operation.Info) != 1 || o.Operation.Info[0].Value != token || o.FinishedAt == "" {
			err = fmt.Errorf("the sync is not done: %+v", a.Status)
		}
		return err
	})
	return a
}
