package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
)

// jobs is an env whose Pods run shell scripts, and whose account runner may execute Jobs.
type jobs struct {
	*env
	scripts string // their directory
	out     string // the directory that scripts write to
}

func newJobs(t *testing.T, scripts map[string]string) *jobs {
	t.Helper()
	j := &jobs{newEnv(t), t.TempDir(), t.TempDir()}
	for name, text := range scripts {
		text = "#!/bin/sh\nset -eu\nout=" + j.out + "\n" + text
		if err := os.WriteFile(filepath.Join(j.scripts, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j.Apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules:
- {apiGroups: [batch], resources: [jobs], verbs: [create, get, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`)
	return j
}

// template returns the field job of an Action that runs a script.
func (j *jobs) template(script string, args ...string) string {
	return fmt.Sprintf(`job: {template: {metadata: {annotations: {testcluster.pequod.io/run-from: %s}}, spec: {containers: [{name: main, image: scripts, command: [/bin/%s], args: [%s]}]}}}`,
		j.scripts, script, strings.Join(args, ", "))
}

// job applies an Action that runs a script.
func (j *jobs) job(t *testing.T, name, executor, more string) {
	t.Helper()
	j.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  retry: {attempts: 0}
  %s
%s`, name, executor, more))
}

// lines returns the lines that scripts have written to a file.
func (j *jobs) lines(name string) []string {
	data, _ := os.ReadFile(filepath.Join(j.out, name)) // a file that isn't there has none
	return strings.Fields(string(data))
}

// message returns the message of the run of an Action.
func (j *jobs) message(t *testing.T, name string) string {
	t.Helper()
	a := j.Get(t, "platform.pequod.io/v1alpha1", "Action", name)
	message, _, _ := unstructured.NestedString(a.Object, "status", "run", "message")
	return message
}

// TestJob runs a script as a Job of the account, and reads its outputs from the termination
// message. Its Job is restricted, owned, and expires. Failures name the container and its exit code,
// and bad templates are refused.
func TestJob(t *testing.T) {
	t.Parallel()
	j := newJobs(t, map[string]string{
		"migrate": `echo run >> $out/migrate; printf '{"version": 7, "name": "%s"}' "$1" > "$2"`,
		"broken":  `echo "no such table; password=hunter2" > "$1"; exit 3`,
	})
	j.run(t)
	j.job(t, "migrate", j.template("migrate", "shop", "/dev/termination-log"), "  outputs: {version: run.outputs.version, name: run.outputs.name}")
	j.status(t, "migrate", func(status map[string]any) error {
		outputs, _, _ := unstructured.NestedMap(status, "outputs")
		if fmt.Sprint(outputs) != "map[name:shop version:7]" {
			return fmt.Errorf("outputs: %v", status)
		}
		return reason("RunSucceeded")(status)
	})
	job := j.list(t)[0]
	spec := job.Spec.Template.Spec
	security := spec.Containers[0].SecurityContext
	if !*spec.SecurityContext.RunAsNonRoot || *security.AllowPrivilegeEscalation || security.Capabilities.Drop[0] != "ALL" || spec.ServiceAccountName != "runner" || *job.Spec.BackoffLimit != 0 {
		t.Errorf("the Job isn't restricted: %+v", spec)
	}
	if ttl := job.Spec.TTLSecondsAfterFinished; len(job.OwnerReferences) != 1 || job.OwnerReferences[0].Kind != "Action" || ttl == nil {
		t.Errorf("owners %v, ttl %v", job.OwnerReferences, ttl)
	}
	// Other outputs are read of the same Job.
	j.job(t, "migrate", j.template("migrate", "shop", "/dev/termination-log"), "  outputs: {text: run.message}")
	j.status(t, "migrate", func(status map[string]any) error {
		if text, _, _ := unstructured.NestedString(status, "outputs", "text"); !strings.Contains(text, `"version": 7`) {
			return fmt.Errorf("outputs: %v", status)
		}
		return nil
	})
	if runs := j.lines("migrate"); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
	j.job(t, "broken", j.template("broken", "/dev/termination-log"), "")
	j.status(t, "broken", reason("RetriesExhausted"))
	if m := j.message(t, "broken"); m != "container main ended with exit code 3 (Error): no such table; password=[redacted]" {
		t.Errorf("message: %s", m)
	}
	j.job(t, "typo", "job: {template: {spec: {containers: [{name: main, image: scripts, comand: [x]}]}}}", "")
	j.status(t, "typo", reason("InvalidAction"))
	j.job(t, "always", "job: {template: {spec: {restartPolicy: Always, containers: [{name: main, image: scripts}]}}}", "")
	j.status(t, "always", reason("InvalidAction"))
	j.job(t, "refused", "job: {template: {spec: {containers: [{name: UPPER, image: scripts}]}}}", "")
	j.status(t, "refused", reason("RunFailed"))
	if m := j.message(t, "refused"); !strings.Contains(m, "is invalid") {
		t.Errorf("message: %s", m)
	}
	j.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: other}}")
	j.Apply(t, fmt.Sprintf("apiVersion: platform.pequod.io/v1alpha1\nkind: Action\nmetadata: {name: powerless}\nspec:\n  serviceAccountName: other\n  retry: {attempts: 0}\n  %s", j.template("migrate")))
	j.status(t, "powerless", reason("RetriesExhausted"))
	if m := j.message(t, "powerless"); !strings.Contains(m, `:other" cannot create resource "jobs"`) {
		t.Errorf("message: %s", m)
	}
}

// TestJobKilledOnce kills the program with -9 as soon as the Job of an Action exists. The next
// process finds it, and each script runs once.
func TestJobKilledOnce(t *testing.T) {
	t.Parallel()
	j := newJobs(t, map[string]string{"count": `echo run >> $out/$1; while [ ! -e $out/go ]; do sleep 0.1; done; [ ! -e $out/fail ]`})
	p := j.run(t, withoutLease...)
	const rounds = 4
	for i := range rounds {
		name := fmt.Sprintf("a%d", i)
		if i%2 == 1 { // kill it after the end of the Job, too
			if err := os.WriteFile(filepath.Join(j.out, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j.job(t, name, j.template("count", name), "")
		harness.Eventually(t, patience, func(ctx context.Context) error {
			if len(j.lines(name)) == 0 {
				return errors.New("the script has not begun")
			}
			return nil
		})
		_ = p.Cmd.Process.Kill() // it runs
		<-p.Done
		if err := os.WriteFile(filepath.Join(j.out, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p = j.run(t, withoutLease...)
		j.status(t, name, reason("RunSucceeded"))
		if runs := j.lines(name); len(runs) != 1 {
			t.Errorf("%s: %d runs", name, len(runs))
		}
		if err := os.Remove(filepath.Join(j.out, "go")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJobCancelled deletes an Action whose Job runs: the Action goes when the Pod is gone. With a
// destroy, a Job undoes what has run, although the deletion removes the objects that the Action owns.
func TestJobCancelled(t *testing.T) {
	t.Parallel()
	j := newJobs(t, map[string]string{
		"hang":   `trap "echo stopped >> $out/hang; exit 1" TERM; echo begun >> $out/hang; while :; do sleep 0.1; done`,
		"create": `echo '{"id": "$(HOME) costs 5$"}' > "$1"`,
		"remove": `sleep 1; echo "$PEQUOD_PURPOSE:$PEQUOD_PREVIOUS" >> $out/remove`,
	})
	j.run(t)
	j.job(t, "hang", j.template("hang"), "")
	harness.Eventually(t, patience, func(context.Context) error {
		if got := j.lines("hang"); len(got) != 1 {
			return fmt.Errorf("lines: %v", got)
		}
		return nil
	})
	j.gone(t, "hang")
	if got := strings.Join(j.lines("hang"), " "); got != "begun stopped" {
		t.Errorf("lines: %s", got)
	}
	j.job(t, "create", j.template("create", "/dev/termination-log"), "  outputs: {id: run.outputs.id}\n  destroy: {"+j.template("remove")+"}")
	j.status(t, "create", reason("RunSucceeded"))
	actions := j.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	if err := actions.Delete(t.Context(), "create", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := actions.Get(ctx, "create", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Action isn't gone"), err)
		}
		return nil
	})
	if got := strings.Join(j.lines("remove"), " "); got != `Destroy:{"id":"$(HOME) costs 5$"}` {
		t.Errorf("lines: %s", got)
	}
}

// TestJobAwaited changes the inputs of an Action whose Job runs: the Job is cancelled, and the next
// one begins when its Pod is gone. With an approval, no Job exists before it. A Pod whose image
// can't be pulled is reported while the run waits for it.
func TestJobAwaited(t *testing.T) {
	t.Parallel()
	j := newJobs(t, map[string]string{
		"first":  `trap "sleep 1; echo ended >> $out/order; exit 1" TERM; echo first >> $out/order; while :; do sleep 0.1; done`,
		"second": `echo second >> $out/order`,
	})
	j.run(t)
	j.job(t, "changed", j.template("first"), "  onChangeWhileRunning: Cancel")
	harness.Eventually(t, patience, func(context.Context) error {
		if got := j.lines("order"); len(got) != 1 {
			return fmt.Errorf("lines: %v", got)
		}
		return nil
	})
	j.job(t, "changed", j.template("second"), "  onChangeWhileRunning: Cancel")
	j.status(t, "changed", reason("RunSucceeded"))
	if got := strings.Join(j.lines("order"), " "); got != "first ended second" {
		t.Errorf("lines: %s", got)
	}
	before := len(j.list(t))
	j.job(t, "approved", j.template("second"), "  approval: Required")
	j.status(t, "approved", reason("WaitingForApproval"))
	if after := len(j.list(t)); after != before {
		t.Errorf("%d Jobs before the approval, not %d", after, before)
	}
	a := j.Get(t, "platform.pequod.io/v1alpha1", "Action", "approved")
	digest, _, _ := unstructured.NestedString(a.Object, "status", "plan", "digest")
	j.annotate(t, "approved", digest)
	j.status(t, "approved", reason("RunSucceeded"))
	j.job(t, "pulling", `job: {template: {spec: {containers: [{name: main, image: "app:missing"}]}}}`, "")
	harness.Eventually(t, patience, func(context.Context) error {
		if m := j.message(t, "pulling"); !strings.Contains(m, "container main waits: ImagePullBackOff") {
			return fmt.Errorf("message: %s", m)
		}
		return nil
	})
}

// list returns the Jobs of the namespace.
func (j *jobs) list(t *testing.T) []batchv1.Job {
	t.Helper()
	list, err := j.Client.BatchV1().Jobs(j.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
