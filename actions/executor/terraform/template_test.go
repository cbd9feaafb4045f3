package terraform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// request decodes a request.
func request(t *testing.T, text string) v1alpha1.ActionExecutor {
	t.Helper()
	var r v1alpha1.ActionExecutor
	if err := yaml.UnmarshalStrict([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

const good = `image: a, source: {inline: {main.tf: ""}}`

// TestCheck refuses what can't be executed, each with one error.
func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		good:                                "",
		`source: {inline: {main.tf: ""}}`:   "terraform.image: required",
		`image: a`:                          "terraform.source: required",
		`image: a, source: {}`:              "terraform.source: exactly one of inline and configMapRef is required",
		good + `, template: {spec: {x: 1}}`: `terraform.template: json: unknown field "x"`,
		good + `, template: {spec: {restartPolicy: OnFailure}}`:                     "terraform.template.spec.restartPolicy: must be Never, not OnFailure",
		good + `, template: {spec: {containers: [{name: tofu, command: [sh]}]}}`:    "terraform.template.spec.containers: the container tofu has",
		good + `, template: {spec: {containers: [{name: tofu, env: [{name: a}]}]}}`: "",
	} {
		found := New(job.Jobs{}, "pequod-actions").Check(request(t, "terraform: {"+text+"}"))
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.HasPrefix(found[0].Error(), want)) {
			t.Errorf("%s: %v, want %s", text, found, want)
		}
	}
	if found := New(job.Jobs{}, "").Check(request(t, "terraform: {"+good+"}")); len(found) != 1 {
		t.Errorf("without an image of pequod-actions: %v", found)
	}
}

// TestTemplate keeps what the template has, and adds what a run needs. The container with OpenTofu comes
// first: its end is that of the run.
func TestTemplate(t *testing.T) {
	t.Parallel()
	run := executor.Run{Name: "db", Key: "k", Account: "runner", Request: request(t, `terraform: {image: "tofu:1", source: {inline: {main.tf: ""}}, lockTimeout: 1m,
  varsFromSecretRef: {name: vars}, template: {metadata: {labels: {a: b}}, spec: {
    securityContext: {runAsUser: 1000}, volumes: [{name: mine, emptyDir: {}}],
    initContainers: [{name: first, image: b}],
    containers: [{name: proxy, image: c}, {name: tofu, env: [{name: TOKEN, value: t}], resources: {limits: {memory: 1Gi}}}]}}}`)}
	got, err := New(job.Jobs{}, "pequod-actions:1").template(run, runner.Apply, "--plan=p")
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Spec
	var names []string
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		names = append(names, c.Name+"="+c.Image)
	}
	if text := strings.Join(names, " "); text != "pequod-actions=pequod-actions:1 first=b tofu=tofu:1 proxy=c" {
		t.Errorf("containers: %s", text)
	}
	c := spec.Containers[0]
	if text := strings.Join(append(slices.Clone(c.Command), c.Args...), " "); text != "/pequod/pequod-actions tofu apply --dir=/pequod/work --input=db-k-in --state=pequod-db --lock-timeout=1m --message=/dev/termination-log --plan=p" {
		t.Errorf("command: %s", text)
	}
	if c.Env[0].Name != "TOKEN" || len(c.Env) != 6 || c.EnvFrom[0].Prefix != "TF_VAR_" || c.EnvFrom[0].SecretRef.Name != "vars" || spec.InitContainers[0].Resources.Limits.Memory().String() != "1Gi" {
		t.Errorf("container: %+v", c)
	}
	text := fmt.Sprintf("%s %s %s %d %d %d", got.Labels["a"], spec.RestartPolicy, spec.ServiceAccountName, *spec.SecurityContext.RunAsUser, *spec.TerminationGracePeriodSeconds, len(spec.Volumes))
	if text != "b Never runner 1000 300 2" {
		t.Errorf("Pod: %s", text)
	}
}

// TestMode begins a Job for each purpose.
func TestMode(t *testing.T) {
	t.Parallel()
	for want, run := range map[runner.Mode]executor.Run{
		runner.Apply: {Purpose: v1alpha1.RunApply}, runner.Plan: {Purpose: v1alpha1.RunApply, Approval: true},
		runner.Check: {Purpose: v1alpha1.RunCheck}, runner.Destroy: {Purpose: v1alpha1.RunDestroy},
	} {
		if got := modeOf(run); got != want {
			t.Errorf("%+v: %s", run, got)
		}
	}
}
