package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/tofu"
	"github.com/pequod-io/pequod/test/process"
)

// tofuEnv is an env whose Pods run OpenTofu, or what stands in for it.
type tofuEnv struct {
	*jobs
	programs string // the directory of tofu and of pequod-actions
}

func newTerraform(t *testing.T) *tofuEnv {
	t.Helper()
	f := &tofuEnv{newJobs(t, nil), t.TempDir()}
	for name, path := range map[string]string{"tofu": tofu.Program(t), name: process.Path(t, name)} {
		if err := os.Symlink(path, filepath.Join(f.programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tofu}
rules:
- {apiGroups: [batch], resources: [jobs], verbs: [create, get, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {apiGroups: [""], resources: [secrets], verbs: [create, get, list, update, patch, delete]}
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tofu}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tofu}
subjects: [{kind: ServiceAccount, name: runner}]
`)
	return f
}

func (f *tofuEnv) run(t *testing.T, args ...string) *process.Process {
	t.Helper()
	return f.env.run(t, append([]string{"--runner-image=pequod-actions:test"}, args...)...)
}

// configuration is a configuration with a variable and a secret one. provisioner is a command that
// the resource slow runs when it is created.
func configuration(provisioner string) map[string]any {
	resources := map[string]any{
		"db":     map[string]any{"input": "${var.size}"},
		"secret": map[string]any{"input": "${var.password}"},
	}
	if provisioner != "" {
		resources["slow"] = map[string]any{
			"input": "${var.size}", "triggers_replace": "${var.size}", "depends_on": []string{"terraform_data.db"},
			"provisioner": []any{map[string]any{"local-exec": map[string]any{"command": provisioner}}},
		}
	}
	return map[string]any{
		"variable": map[string]any{"size": map[string]any{"type": "string"}, "password": map[string]any{"type": "string", "default": "none"}},
		"resource": map[string]any{"terraform_data": resources},
		"output": map[string]any{
			"size":     map[string]any{"value": "${terraform_data.db.output}"},
			"id":       map[string]any{"value": "${terraform_data.db.id}"},
			"password": map[string]any{"value": "${terraform_data.secret.output}", "sensitive": true},
		},
	}
}

// inline returns the field source with a configuration.
func inline(config any) string {
	text, _ := json.Marshal(config) // it has no values that can't be
	quoted, _ := json.Marshal(string(text))
	return "{inline: {main.tf.json: " + string(quoted) + "}}"
}

// terraform applies an Action with more fields of the executor and of the spec.
func (f *tofuEnv) terraform(t *testing.T, name, source, size, executor, more string) {
	t.Helper()
	f.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  retry: {attempts: 5, initial: 1s, factor: 1}
  terraform:
    image: tofu:test
    source: %s
    vars: {size: %q}
    template: {metadata: {annotations: {testcluster.pequod.io/run-from: %s}}}
%s
%s`, name, source, size, f.programs, executor, more))
}

// secret returns a Secret, or nil.
func (f *tofuEnv) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	s, err := f.Client.CoreV1().Secrets(f.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outputs returns a check for the outputs of an Action that has completed.
func outputs(want string) func(map[string]any) error {
	return func(status map[string]any) error {
		outputs, _, _ := unstructured.NestedMap(status, "outputs")
		if got := fmt.Sprint(outputs["size"]); got != want {
			return fmt.Errorf("size: %s: %v", got, status)
		}
		return reason("RunSucceeded")(status)
	}
}

// state returns the state of an Action.
func (f *tofuEnv) state(t *testing.T, name string) (*corev1.Secret, map[string]any) {
	t.Helper()
	s := f.secret(t, "tfstate-default-pequod-"+name)
	if s == nil {
		t.Fatal("no state")
	}
	r, err := gzip.NewReader(bytes.NewReader(s.Data["tfstate"]))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	return s, state
}

// loseResources removes the resources from the state of an Action.
func (f *tofuEnv) loseResources(t *testing.T, name string) {
	t.Helper()
	s, state := f.state(t, name)
	state["resources"], state["serial"] = []any{}, state["serial"].(float64)+1
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.Data["tfstate"] = packed.Bytes()
	if _, err := f.Client.CoreV1().Secrets(f.Namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// begun waits until a file has a number of lines, and returns the last one.
func (f *tofuEnv) begun(t *testing.T, file string, n int) string {
	t.Helper()
	var lines []string
	harness.Eventually(t, patience, func(context.Context) error {
		if lines = f.lines(file); len(lines) < n {
			return fmt.Errorf("%s: %v", file, lines)
		}
		return nil
	})
	return lines[len(lines)-1]
}

// write writes a file that commands wait for.
func (f *tofuEnv) write(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.out, file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTerraform applies a configuration once, although the program restarts, again when a variable
// changes, and again when a check finds that the state has lost its resources. A deletion destroys
// everything, and the state with it. Sensitive outputs, and those with a value of a Secret, are in a
// Secret only.
func TestTerraform(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: vars}, stringData: {password: correct-horse-battery}}")
	p := f.run(t)
	config := configuration("")
	config["output"].(map[string]any)["copy"] = map[string]any{"value": "copy of ${var.password}"}
	const more = `
  outputs: {size: run.outputs.size, id: run.outputs.id, changes: run.plan.changes}
  sensitiveOutputs: {secretName: db, values: {password: run.sensitive.password, copy: run.sensitive.copy}}
  check: {every: 1s, terraform: {}, driftWhen: run.plan.changes > 0}
  destroy: {terraform: {}}`
	f.terraform(t, "db", inline(config), "1", "    varsFromSecretRef: {name: vars}", more)
	f.status(t, "db", outputs("1"))
	if s := f.secret(t, "db"); s == nil || string(s.Data["password"]) != "correct-horse-battery" || string(s.Data["copy"]) != "copy of correct-horse-battery" {
		t.Errorf("sensitive outputs: %v", s)
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	f.run(t)
	f.terraform(t, "db", inline(config), "2", "    varsFromSecretRef: {name: vars}", more)
	f.status(t, "db", outputs("2"))
	checked := func(result string, drifts int) func(map[string]any) error {
		return func(status map[string]any) error {
			got, _, _ := unstructured.NestedString(status, "lastCheck", "result")
			history, _, _ := unstructured.NestedSlice(status, "history")
			n := 0
			for _, h := range history {
				if h.(map[string]any)["reason"] == "Drift" {
					n++
				}
			}
			if got != result || n < drifts {
				return fmt.Errorf("check %s, %d drifts: %v", got, n, status)
			}
			return nil
		}
	}
	f.status(t, "db", checked("InSync", 0))
	f.loseResources(t, "db")
	f.status(t, "db", checked("InSync", 1))
	if _, state := f.state(t, "db"); len(state["resources"].([]any)) != 2 {
		t.Errorf("state: %v", state)
	}
	f.gone(t, "db")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		left, err := f.Client.CoreV1().Secrets(f.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "tfstate=true"})
		leases, also := f.Client.CoordinationV1().Leases(f.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "tfstate=true"})
		if err != nil || also != nil || len(left.Items)+len(leases.Items) > 0 {
			return errors.Join(fmt.Errorf("%d Secrets and %d Leases are left", len(left.Items), len(leases.Items)), err, also)
		}
		return nil
	})
}
