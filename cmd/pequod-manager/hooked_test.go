package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// rangeModule is a module with a default and a rule that a CRD can't express.
const rangeModule = `package app

#Platform: kind: "KIND"
#Input: {
	min: int & >=1
	max: *(min + 10) | int
	copies: *1 | int
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: config: resource: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: name: input.metadata.name
			data: {min: "\(input.spec.min)", max: "\(input.spec.max)"}
			if input.metadata.name =~ "^slow-" {
				data: sum: "\(len([for a in _many for b in _many for c in _many if a+b+c == -1 {a}]))"
			}
		}
		if input.spec.max < input.spec.min {
			violations: [
				{path: "spec.max", message: "is less than spec.min, \(input.spec.min)"},
				if input.spec.max < 0 {path: "spec.max", message: "is negative"},
			]
		}
		if input.spec.max > 1000 {
			violations: [{path: "spec.max", message: "is very large", severity: "Warning"}]
		}
	}
}
_many: [for a in _tens for b in _tens {a*10 + b}]
_tens: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
`

// rangeTransform is a Transform with an inline module.
func rangeTransform(kind string) string {
	module := strings.ReplaceAll(rangeModule, "KIND", kind)
	return fmt.Sprintf(`apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  cueRef:
    type: inline
    files:
    - name: app.cue
      content: |
        %s
  managedResources: [{apiGroup: '', resources: [configmaps]}]
`, strings.ToLower(kind), process.Namespace, strings.ReplaceAll(module, "\n", "\n        "))
}

// hooked is a cluster in which the manager is installed with its webhooks.
type hooked struct{ *process.Hooked }

func installHooks(t *testing.T) hooked {
	t.Helper()
	return hooked{deployed.InstallHooked(t, process.Webhooks{Manifests: config.ManagerWebhook(), Configuration: hooks.Manager, Path: hooks.TransformsPath})}
}

// run starts a manager with webhooks, and waits until it is ready.
func (h hooked) run(t *testing.T, args ...string) *process.Process {
	t.Helper()
	p := h.Run(t, args...)
	p.Ready(t)
	return p
}

// registered waits until the configuration has exactly the webhooks of these CRDs, all of
// them with authorities.
func (h hooked) registered(t *testing.T, crds ...string) {
	t.Helper()
	want := append([]string{"transforms.platform.pequod.io"}, crds...)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		live, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, hooks.Manager, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var names []string
		for _, w := range live.Webhooks {
			names = append(names, w.Name)
			if len(w.ClientConfig.CABundle) == 0 || len(w.MatchConditions) < 2 {
				return fmt.Errorf("%s is not complete: %v", w.Name, w.MatchConditions)
			}
		}
		if !slices.Equal(names, want) {
			return fmt.Errorf("the configuration has %v", names)
		}
		return nil
	})
}

// instanceOf returns an instance with a spec in YAML.
func instanceOf(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("apiVersion: pequod.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
	in := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &in.Object); err != nil {
		t.Fatal(err)
	}
	return in
}

// apply applies an instance as kubectl apply --server-side does.
func apply(ctx context.Context, to dynamic.ResourceInterface, in *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	return to.Apply(ctx, in.GetName(), in, metav1.ApplyOptions{FieldManager: "developer", DryRun: dryRun})
}

// checked waits until instances of a kind are checked.
func checked(t *testing.T, instances dynamic.ResourceInterface, kind string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := apply(ctx, instances, instanceOf(t, kind, "probe", "{min: 5, max: 1}"), metav1.DryRunAll); err == nil || !strings.Contains(err.Error(), "denied the request") {
			return fmt.Errorf("not checked: %w", err)
		}
		return nil
	})
}

// validated returns the problems that pequod validate finds in an instance, without the
// positions in its file.
func validated(t *testing.T, transform string, in *unstructured.Unstructured) string {
	t.Helper()
	dir := t.TempDir()
	text, err := yaml.Marshal(in.Object)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "in.yaml"), text, 0o600), os.WriteFile(filepath.Join(dir, "transform.yaml"), []byte(transform), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	out := process.PequodIn(t, dir, 1, "validate", "-f", "in.yaml", "-p", "transform.yaml")
	var problems []string
	for line := range strings.Lines(out) {
		if _, problem, ok := strings.Cut(line, ": "); ok && regexp.MustCompile(`^in\.yaml:\d+`).MatchString(line) {
			problems = append(problems, strings.TrimSuffix(problem, "\n"))
		}
	}
	if len(problems) == 0 {
		t.Fatalf("pequod validate: %s", out)
	}
	return strings.Join(problems, "\n")
}

// place is the place of a rule in an inline module: in the Transform's file on a developer's
// machine, and in its field in the cluster.
var place = regexp.MustCompile(`(?m) \((transform\.yaml|spec\.cueRef\.files\[app\.cue\]):\d+:\d+\)$`)
