package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/tofu"
	"github.com/pequod-io/pequod/test/process"
)

// planOf waits for a plan that isn't the one before, and returns its digest and its summary.
func (f *tofuEnv) planOf(t *testing.T, name, before string) (digest, summary string) {
	t.Helper()
	f.status(t, name, func(status map[string]any) error {
		digest, _, _ = unstructured.NestedString(status, "plan", "digest")
		summary, _, _ = unstructured.NestedString(status, "plan", "summary")
		if before == "" && status["phase"] == "Applying" {
			t.Errorf("%s applies a plan that nobody approved", name)
		}
		if digest == "" || digest == before {
			return fmt.Errorf("no new plan: %v", status)
		}
		return reason("WaitingForApproval")(status)
	})
	return digest, summary
}

// key returns the key of the run of an Action.
func (f *tofuEnv) key(t *testing.T, name string) string {
	t.Helper()
	key, _, _ := unstructured.NestedString(f.Get(t, "platform.pequod.io/v1alpha1", "Action", name).Object, "status", "run", "key")
	return key
}

// TestTerraformApproval makes a plan, and applies that plan and no other: an approval is void when the
// variables change, and when somebody changes the plan that is stored. A plan without changes waits for
// nobody.
func TestTerraformApproval(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.run(t)
	const more = "  outputs: {size: run.outputs.size}\n  approval: Required"
	source := inline(configuration("echo applied >> " + f.out + "/applied"))
	f.terraform(t, "db", source, "1", "", more)
	first, summary := f.planOf(t, "db", "")
	if want := "3 to create, 0 to update, 0 to delete: + terraform_data.db, + terraform_data.secret, + terraform_data.slow"; summaryWithoutOutputs(summary) != want {
		t.Errorf("summary: %s", summary)
	}
	f.terraform(t, "db", source, "2", "", more)
	f.annotate(t, "db", first)
	second, _ := f.planOf(t, "db", first)
	if n := len(f.lines("applied")); n > 0 {
		t.Fatalf("%d applications of plans that nobody approved", n)
	}
	// Another plan is in the place of the one that is approved.
	stored := f.secret(t, "db-"+f.key(t, "db"))
	stored.Data["plan"] = append(stored.Data["plan"], ' ')
	if _, err := f.Client.CoreV1().Secrets(f.Namespace).Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.annotate(t, "db", second)
	third, _ := f.planOf(t, "db", second)
	history, _, _ := unstructured.NestedSlice(f.Get(t, "platform.pequod.io/v1alpha1", "Action", "db").Object, "status", "history")
	if message := fmt.Sprint(history[0].(map[string]any)["message"]); !strings.HasSuffix(message, second+" was approved") {
		t.Errorf("message: %s", message)
	}
	if n := len(f.lines("applied")); n > 0 {
		t.Fatalf("%d applications of plans that nobody approved", n)
	}
	f.annotate(t, "db", third)
	f.status(t, "db", outputs("2"))
	if n := len(f.lines("applied")); n != 1 {
		t.Errorf("%d applications", n)
	}
	before := f.key(t, "db")
	f.request(t, "db")
	f.status(t, "db", func(status map[string]any) error {
		if key, _, _ := unstructured.NestedString(status, "run", "key"); key == before {
			return errors.New("it has not run again")
		}
		return outputs("2")(status)
	})
	if n := len(f.lines("applied")); n != 1 {
		t.Errorf("%d applications after a plan without changes", n)
	}
}

// summaryWithoutOutputs removes the outputs from the summary of a plan.
func summaryWithoutOutputs(summary string) string {
	before, _, _ := strings.Cut(summary, ", + output.")
	before, _, _ = strings.Cut(before, ", ~ output.")
	return before
}

// request requests a reconciliation of an Action.
func (f *tofuEnv) request(t *testing.T, name string) {
	t.Helper()
	patch := []byte(`{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
	actions := f.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	if _, err := actions.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestTerraformKilledOnce kills the program with -9 when a run is recorded, when its input is stored,
// when its Job exists, while it runs, and when an approved plan has its Job. Each run is applied once.
// PEQUOD_SOAK is four times as often as it is killed; otherwise that is once at each of these steps.
func TestTerraformKilledOnce(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	p := f.run(t, withoutLease...)
	source := inline(configuration("echo applied >> " + f.out + "/work-${var.size}"))
	exists := func(err error) bool { return err == nil }
	jobs, secrets := f.Client.BatchV1().Jobs(f.Namespace), f.Client.CoreV1().Secrets(f.Namespace)
	steps := []func(name, key string) bool{
		func(_, key string) bool { return key != "" },
		func(name, key string) bool {
			_, err := secrets.Get(t.Context(), name+"-"+key+"-in", metav1.GetOptions{})
			return exists(err)
		},
		func(name, key string) bool {
			_, err := jobs.Get(t.Context(), name+"-"+key, metav1.GetOptions{})
			return exists(err)
		},
		func(name, key string) bool { return len(f.lines("work-"+name)) > 0 },
		func(name, key string) bool {
			_, err := jobs.Get(t.Context(), name+"-"+key+"-apply", metav1.GetOptions{})
			return exists(err)
		},
	}
	rounds, approvals, began := chaos.Times(4, len(steps)), 0, time.Now()
	for i := range rounds {
		step := steps[i%len(steps)]
		name, more := fmt.Sprintf("a%d", i), "  outputs: {size: run.outputs.size}"
		approved := i%len(steps) == len(steps)-1
		if approved {
			approvals++
			more += "\n  approval: Required"
		}
		f.terraform(t, name, source, name, "", more)
		if approved {
			digest, _ := f.planOf(t, name, "")
			f.annotate(t, name, digest)
		}
		for begin := time.Now(); !step(name, f.key(t, name)); time.Sleep(time.Millisecond) {
			if time.Since(begin) > patience {
				t.Fatalf("%s: the step is never reached", name)
			}
		}
		_ = p.Cmd.Process.Kill() // it runs
		<-p.Done
		p = f.run(t, withoutLease...)
		f.status(t, name, outputs(name))
		if n := len(f.lines("work-" + name)); n != 1 {
			t.Errorf("%s: applied %d times", name, n)
		}
	}
	keys := map[string]int{}
	for _, j := range f.list(t) {
		keys[j.Labels["pequod.io/run"]]++
	}
	if len(keys) != rounds || len(f.list(t)) != rounds+approvals {
		t.Errorf("Jobs by key: %v", keys)
	}
	t.Logf("%d kills in %s", rounds, time.Since(began).Round(time.Second))
}

// killRunner kills with -9 the program that has started tofu, which has started the shell with the pid.
func killRunner(t *testing.T, shell string) {
	t.Helper()
	parent := func(pid string) string {
		data, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		return strings.Fields(rest)[1]
	}
	pid, err := strconv.Atoi(parent(parent(shell)))
	if err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(command), process.Path(t, name)) && !strings.Contains(string(command), "pequod-actions\x00tofu") {
		t.Fatalf("process %d is %q: %v", pid, command, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestTerraformLocked kills a run with -9 while it applies a plan. Its lock is released by the next run,
// because its Pod is gone, and what it had stored before is in the state. The lock of somebody else is
// awaited, and the message names the holder.
func TestTerraformLocked(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.run(t)
	source := inline(configuration("echo $$ >> " + f.out + "/begun; while [ ! -e " + f.out + "/go ]; do sleep 0.1; done"))
	f.write(t, "go")
	const more = "  outputs: {size: run.outputs.size, id: run.outputs.id}"
	f.terraform(t, "db", source, "1", "    lockTimeout: 2s", more)
	f.status(t, "db", outputs("1"))
	id := func() string {
		a := f.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
		id, _, _ := unstructured.NestedString(a.Object, "status", "outputs", "id")
		return id
	}
	before := id()
	if err := os.Remove(filepath.Join(f.out, "go")); err != nil {
		t.Fatal(err)
	}
	f.terraform(t, "db", source, "2", "    lockTimeout: 2s", more)
	shell := f.begun(t, "begun", 2)
	leases := f.Client.CoordinationV1().Leases(f.Namespace)
	lease, err := leases.Get(t.Context(), "lock-tfstate-default-pequod-db", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Fatalf("the state isn't locked: %v, %v", lease, err)
	}
	killRunner(t, shell)
	f.write(t, "go")
	f.status(t, "db", outputs("2"))
	if after := id(); before == "" || after != before {
		t.Errorf("the id was %s, and is %s", before, after)
	}
	// Somebody else locks the state.
	if lease, err = leases.Get(t.Context(), lease.Name, metav1.GetOptions{}); err != nil || lease.Spec.HolderIdentity != nil {
		t.Fatalf("the state is locked: %v, %v", lease, err)
	}
	lock(lease, `{"ID":"1","Operation":"OperationTypeApply","Who":"jane@laptop","Created":"2026-01-02T03:04:05Z"}`)
	if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.terraform(t, "db", source, "3", "    lockTimeout: 2s", more)
	f.status(t, "db", func(status map[string]any) error {
		message, _, _ := unstructured.NestedString(status, "run", "message")
		if message != "the state is locked by jane@laptop since 2026-01-02T03:04:05Z (OperationTypeApply)" {
			return fmt.Errorf("%s: %v", message, status)
		}
		return nil
	})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		lease, err := leases.Get(ctx, lease.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Annotations["app.terraform.io/lock-info"] == "" {
			t.Fatal("the lock of somebody else was released")
		}
		lease.Spec.HolderIdentity = nil
		delete(lease.Annotations, "app.terraform.io/lock-info")
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	f.status(t, "db", outputs("3"))
}

// lock locks a state.
func lock(lease *coordinationv1.Lease, info string) {
	lease.Spec.HolderIdentity = new("1")
	lease.Annotations["app.terraform.io/lock-info"] = info
}

// TestTerraformCancelled deletes an Action that applies a plan: OpenTofu is interrupted, stores the state
// and unlocks it, and then the destroy runs. Inputs that change cancel a run in the same way, and a plan
// that waits.
func TestTerraformCancelled(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.run(t)
	source := inline(configuration("echo begun >> " + f.out + "/begun; while [ ! -e " + f.out + "/go ]; do sleep 0.1; done"))
	const more = "  outputs: {size: run.outputs.size}\n  onChangeWhileRunning: Cancel\n  destroy: {terraform: {}}"
	f.terraform(t, "db", source, "1", "", more)
	f.begun(t, "begun", 1)
	f.terraform(t, "db", source, "2", "", more)
	f.begun(t, "begun", 2)
	_, state := f.state(t, "db")
	if resources := fmt.Sprint(state["resources"]); !strings.Contains(resources, "db") || !strings.Contains(resources, "secret") {
		t.Errorf("the run that was cancelled has not stored the state: %s", resources)
	}
	f.gone(t, "db")
	if s := f.secret(t, "tfstate-default-pequod-db"); s != nil {
		t.Error("the state is left")
	}
	lease, err := f.Client.CoordinationV1().Leases(f.Namespace).Get(t.Context(), "lock-tfstate-default-pequod-db", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the lock is left: %v, %v", lease, err)
	}
	f.terraform(t, "waits", source, "1", "", "  approval: Required")
	first, _ := f.planOf(t, "waits", "")
	f.gone(t, "waits")
	f.terraform(t, "waits", source, "2", "", "  approval: Required")
	f.annotate(t, "waits", first)
	f.planOf(t, "waits", first)
	if n := len(f.lines("begun")); n != 2 {
		t.Errorf("%d applications", n)
	}
}

// TestTerraformRefused has configurations and variables that can't be applied. Each has one clear error,
// and the Action stalls.
func TestTerraformRefused(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.run(t)
	good := inline(configuration(""))
	f.Apply(t, `
{apiVersion: v1, kind: Secret, metadata: {name: twice}, stringData: {size: "large and secret"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: dashed}, stringData: {a-b: "large and secret"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: notes}, data: {README.md: nothing}}
`)
	for name, test := range map[string]struct{ source, executor, reason, message string }{
		"syntax":     {`{inline: {main.tf.json: "{\n  \"variable\": {\"size\": {}},\n  \"output\": }"}}`, "", "RunFailed", "main.tf.json:3:"},
		"undeclared": {`{inline: {main.tf.json: "{\"output\": {\"a\": {\"value\": \"1\"}}}"}}`, "", "RunFailed", "Value for undeclared variable"},
		"required":   {`{inline: {main.tf.json: "{\"variable\": {\"size\": {}, \"more\": {}}}"}}`, "", "RunFailed", "No value for required variable"},
		"quoting":    {`{inline: {main.tf.json: "{\"variable\": {\"size\": {}, \"password=hunter2\": {}}}"}}`, "", "RunFailed", "No value for required variable: password=[redacted]"},
		"files":      {`{configMapRef: {name: notes}}`, "", "RunFailed", "the source has no file in the root module"},
		"twice":      {good, "    varsFromSecretRef: {name: twice}", "RunFailed", "the variable size is in terraform.vars and in the Secret twice"},
		"dashed":     {good, "    varsFromSecretRef: {name: dashed}", "RunFailed", "the Secret dashed: a-b can't be the name of a variable"},
		"path":       {`{inline: {main.tf.json: "{}", ../a.tf: ""}}`, "", "InvalidAction", "isn't the name of a file in the directory"},
		"sensitive":  {good, "  outputs: {password: run.sensitive.password}", "InvalidAction", "reads run.sensitive"},
	} {
		f.terraform(t, name, test.source, "1", test.executor, "")
		f.status(t, name, func(status map[string]any) error {
			if text := fmt.Sprint(status); !strings.Contains(text, test.message) {
				return fmt.Errorf("want %s: %s", test.message, text)
			}
			return reason(test.reason)(status)
		})
	}
	// What is missing may come.
	f.terraform(t, "later", "{configMapRef: {name: later}}", "1", "", "  outputs: {size: run.outputs.size}")
	f.status(t, "later", func(status map[string]any) error {
		if text := fmt.Sprint(status["history"]); !strings.Contains(text, "the ConfigMap later does not exist") {
			return errors.New(text)
		}
		return nil
	})
	f.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: later}, data: `+strings.TrimSuffix(strings.TrimPrefix(good, "{inline: "), "}")+`}`)
	f.status(t, "later", outputs("1"))
}

// TestTerraformLarge has a plan that no Secret can store. Without an approval it is applied.
func TestTerraformLarge(t *testing.T) {
	t.Parallel()
	if !tofu.Real() {
		t.Skip("only OpenTofu computes values; make e2e runs it")
	}
	f := newTerraform(t)
	f.run(t)
	source := inline(map[string]any{
		"variable": map[string]any{"size": map[string]any{"type": "string"}},
		"resource": map[string]any{"terraform_data": map[string]any{"db": map[string]any{"input": "${[for i in range(1024): [for j in range(32): sha256(\"${i} ${j}\")]]}"}}},
	})
	f.terraform(t, "large", source, "1", "", "  approval: Required")
	f.status(t, "large", func(status map[string]any) error {
		message, _, _ := unstructured.NestedString(status, "run", "message")
		if !strings.HasPrefix(message, "the plan has ") || !strings.Contains(message, "and a Secret can store 921600 for an approval") {
			return fmt.Errorf("%s: %v", message, status)
		}
		return reason("RunFailed")(status)
	})
}
