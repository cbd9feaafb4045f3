package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
)

// readSecrets lets the account runner read the Secret github.
const readSecrets = `
apiVersion: v1
kind: Secret
metadata: {name: github}
stringData: {token: ` + github.Token + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [github], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`

// hooks are called before and after a dispatch has an effect. A test changes them.
type hooks struct {
	mu     sync.Mutex
	before func() bool
	after  func()
}

func (h *hooks) set(before func() bool, after func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before, h.after = before, after
}

func (h *hooks) calls() (before func() bool, after func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.before, h.after
}

// zipped returns an artifact with outputs.
func zipped(t *testing.T, outputs string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("outputs.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(outputs)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newGitHub installs the program, and starts a server with three workflows.
func newGitHub(t *testing.T, o github.Options) (*env, *github.Server, *hooks) {
	t.Helper()
	h := &hooks{before: func() bool { return true }, after: func() {}}
	o.Before = func() bool { before, _ := h.calls(); return before() }
	o.After = func() { _, after := h.calls(); after() }
	inputs, title := []string{"size", "pequod_run"}, "${{ inputs.pequod_run }}"
	s := github.New(t, o,
		github.Workflow{ID: 1, File: "database.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "success", Jobs: 2, Artifacts: map[string][]byte{"outputs": zipped(t, `{"endpoint": "db-1"}`)}},
		github.Workflow{ID: 2, File: "plan.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "success", Artifacts: map[string][]byte{"outputs": zipped(t, `{"changes": 1}`)}},
		github.Workflow{ID: 3, File: "destroy.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "success"},
		github.Workflow{ID: 4, File: "broken.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "failure", Jobs: 1},
	)
	e := newEnv(t)
	e.Apply(t, readSecrets)
	return e, s, h
}

// workflow applies an Action with a workflow of the server, and more fields of its spec.
func (e *env) workflow(t *testing.T, s *github.Server, name, file, size, more string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  githubWorkflow:
    server: %s/api/v3
    repository: acme/infra
    workflow: %s
    ref: main
    inputs: {size: "%s"}
    keyInput: pequod_run
    auth: {tokenSecretRef: {name: github, key: token}}
    outputsArtifact: outputs
%s`, name, s.URL, file, size, more))
}

// dispatched returns the files and sizes of the runs.
func dispatched(s *github.Server) string {
	var all []string
	for _, r := range s.Runs() {
		all = append(all, strings.TrimSuffix(r.Workflow.File, ".yaml")+r.Inputs["size"])
	}
	return strings.Join(all, " ")
}

// TestWorkflow runs a workflow once, although the program restarts, again when its inputs change,
// and undoes it.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitHub(t, github.Options{Prefix: "/api/v3", Foreign: 2, Unlisted: time.Second, Queued: 300 * time.Millisecond, Running: time.Second})
	p := e.run(t)
	const more = "  outputs: {endpoint: run.outputs.endpoint, job: 'run.jobs[1].name + \" \" + run.artifacts[0].name'}\n  destroy: {githubWorkflow: {workflow: destroy.yaml}}"
	e.workflow(t, s, "db", "database.yaml", "1", more)
	completed := func(status map[string]any) error {
		outputs, _, _ := unstructured.NestedMap(status, "outputs")
		jobs, _, _ := unstructured.NestedSlice(status, "jobs")
		artifacts, _, _ := unstructured.NestedSlice(status, "artifacts")
		url, _, _ := unstructured.NestedString(status, "run", "url")
		if outputs["endpoint"] != "db-1" || outputs["job"] != "job-1 outputs" || len(jobs) != 2 || len(artifacts) != 1 || !strings.HasPrefix(url, "https://github.com/acme/infra/actions/runs/") {
			return fmt.Errorf("status: %v", status)
		}
		return reason("RunSucceeded")(status)
	}
	e.status(t, "db", completed)
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = e.run(t)
	p.Ready(t)
	time.Sleep(2 * time.Second)
	if got := dispatched(s); got != "database1" {
		t.Errorf("after a restart: %s", got)
	}
	e.workflow(t, s, "db", "database.yaml", "2", more)
	e.status(t, "db", func(status map[string]any) error {
		if got := dispatched(s); got != "database1 database2" {
			return errors.New(got)
		}
		return completed(status)
	})
	a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
	e.gone(t, "db")
	if got := dispatched(s); got != "database1 database2 destroy2" {
		t.Errorf("runs: %s", got)
	}
	for name, text := range map[string]string{"the Action": fmt.Sprint(a.Object), "the log": p.Log.String()} {
		if strings.Contains(text, github.Token) || strings.Contains(text, "sig=") {
			t.Errorf("%s has credentials", name)
		}
	}
}

// TestWorkflowQuickly changes the inputs to others and back while a run is in progress. Each run is
// cancelled before the next one begins, and the last one has the last inputs.
func TestWorkflowQuickly(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitHub(t, github.Options{Prefix: "/api/v3", Queued: 500 * time.Millisecond, Running: 3 * time.Second})
	e.run(t)
	for i := range 5 {
		e.workflow(t, s, "db", "database.yaml", fmt.Sprint(i%2), "  onChangeWhileRunning: Cancel")
		harness.Eventually(t, patience, func(context.Context) error {
			if runs := s.Runs(); len(runs) == 0 || i > 0 && i < 4 && runs[len(runs)-1].Inputs["size"] != fmt.Sprint(i%2) {
				return errors.New(dispatched(s))
			}
			return nil
		})
	}
	e.status(t, "db", reason("RunSucceeded"))
	if got := dispatched(s); !strings.HasSuffix(got, "database0") || s.MostOpen() != 1 {
		t.Errorf("runs: %s, and %d were open at once", got, s.MostOpen())
	}
}

// TestWorkflowDrift checks for drift with another workflow of the same repository, and runs again.
func TestWorkflowDrift(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitHub(t, github.Options{Prefix: "/api/v3"})
	e.run(t)
	e.workflow(t, s, "db", "database.yaml", "1", "  check: {every: 2s, githubWorkflow: {workflow: plan.yaml}, driftWhen: run.outputs.changes > 0}")
	e.status(t, "db", func(map[string]any) error {
		if got := dispatched(s); !strings.HasPrefix(got, "database1 plan1 database1") {
			return errors.New(got)
		}
		return nil
	})
}

// TestWorkflowRefused has workflows that fail, that don't exist, and Actions that the API server
// refuses.
func TestWorkflowRefused(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitHub(t, github.Options{Prefix: "/api/v3", Mode: github.Old})
	e.run(t)
	e.workflow(t, s, "broken", "broken.yaml", "1", "  retry: {attempts: 0}")
	e.workflow(t, s, "missing", "none.yaml", "1", "")
	e.status(t, "missing", reason("RunFailed"))
	e.status(t, "broken", reason("RetriesExhausted"))
	for name, want := range map[string]string{"broken": "the workflow ended with failure: job job-0", "missing": "it doesn't exist, or the credentials have no right to it"} {
		a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", name)
		if message, _, _ := unstructured.NestedString(a.Object, "status", "run", "message"); !strings.Contains(message, want) {
			t.Errorf("%s: %q, want %q", name, message, want)
		}
	}
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	auth := map[string]any{"tokenSecretRef": map[string]any{"name": "github", "key": "token"}}
	refused := func(change func(spec, workflow map[string]any), want string) {
		t.Helper()
		w := map[string]any{"repository": "acme/infra", "workflow": "database.yaml", "ref": "main", "auth": auth}
		spec := map[string]any{"serviceAccountName": "runner", "githubWorkflow": w}
		change(spec, w)
		a := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "platform.pequod.io/v1alpha1", "kind": "Action", "metadata": map[string]any{"name": "refused"}, "spec": spec,
		}}
		_, err := actions.Create(t.Context(), a, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(func(_, _ map[string]any) {}, "")
	refused(func(_, w map[string]any) { delete(w, "ref") }, "githubWorkflow requires repository, ref and auth")
	refused(func(_, w map[string]any) { w["inputs"] = map[string]any{"size": int64(1)} }, "must be of type string")
	refused(func(_, w map[string]any) {
		w["inputs"], w["keyInput"] = map[string]any{"run": "x"}, "run"
	}, "inputs must not have the input keyInput")
	refused(func(_, w map[string]any) {
		inputs := map[string]any{}
		for i := range 25 {
			inputs[fmt.Sprint("i", i)] = ""
		}
		w["inputs"], w["keyInput"] = inputs, "run"
	}, "at most 25 inputs")
	refused(func(_, w map[string]any) {
		w["auth"] = map[string]any{"tokenSecretRef": map[string]any{"name": "github", "key": "token"}, "app": map[string]any{
			"id": int64(1), "installationID": int64(1), "privateKeySecretRef": map[string]any{"name": "github", "key": "token"},
		}}
	}, "exactly one of tokenSecretRef and app is required")
	refused(func(spec, _ map[string]any) {
		spec["http"] = map[string]any{"url": "https://example.com"}
	}, "exactly one of http, job, external, githubWorkflow")
	// A check and a destroy take over only from the same executor.
	elsewhere := func(part map[string]any) func(spec, w map[string]any) {
		return func(spec, _ map[string]any) {
			delete(spec, "githubWorkflow")
			spec["http"] = map[string]any{"url": "https://example.com"}
			maps.Copy(spec, part)
		}
	}
	check := func(executor string, request map[string]any) map[string]any {
		return map[string]any{"check": map[string]any{"every": "5m", "driftWhen": "true", executor: request}}
	}
	whole := map[string]any{"repository": "acme/infra", "workflow": "plan.yaml", "ref": "main", "auth": auth}
	refused(elsewhere(check("githubWorkflow", whole)), "")
	refused(elsewhere(check("githubWorkflow", map[string]any{"workflow": "plan.yaml", "ref": "main"})), "githubWorkflow of check and destroy requires repository, ref and auth")
	refused(elsewhere(check("terraform", map[string]any{"image": "tofu"})), "terraform of check and destroy requires image and source")
	refused(elsewhere(map[string]any{"destroy": map[string]any{"gitlabPipeline": map[string]any{"project": "a/b"}}}), "gitlabPipeline of check and destroy requires project, ref and auth")
	refused(func(spec, _ map[string]any) {
		maps.Copy(spec, check("githubWorkflow", map[string]any{"workflow": "plan.yaml"}))
	}, "")
}
