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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
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

// hooked is a cluster in which the manager is installed with its webhooks. The control plane of
// tests has no network of Services, so the configuration calls the manager by its address.
type hooked struct {
	*harness.Cluster
	account *rest.Config
	address string
}

func installHooks(t *testing.T) *hooked {
	t.Helper()
	c, account := deployed.Install(t)
	h := &hooked{c, account, process.FreeAddress(t)}
	h.configure(t)
	return h
}

// configure applies config/webhook/manager.
func (h *hooked) configure(t *testing.T) {
	t.Helper()
	h.Apply(t, string(config.ManagerWebhook()))
	patch := fmt.Sprintf(`[{"op": "remove", "path": "/webhooks/0/clientConfig/service"}, {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": "https://%s%s"}]`,
		h.address, hooks.TransformsPath)
	if _, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), hooks.Manager,
		types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// run starts a manager with webhooks.
func (h *hooked) run(t *testing.T, args ...string) *process.Process {
	t.Helper()
	p := deployed.Start(t, h.Cluster, h.account, append([]string{"--webhooks", "--webhook-bind-address=" + h.address, "--webhook-namespace=" + process.Namespace}, args...)...)
	p.Ready(t)
	return p
}

// registered waits until the configuration has exactly the webhooks of these CRDs, all of
// them with authorities.
func (h *hooked) registered(t *testing.T, crds ...string) {
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

// TestInstancesAreChecked writes instances through the API server and a manager with the
// installed rights.
func TestInstancesAreChecked(t *testing.T) {
	h := installHooks(t)
	ctx := t.Context()
	p := h.run(t)
	h.Apply(t, rangeTransform("Span"))
	h.Apply(t, rangeTransform("Other"))
	spans, others := h.Await(t, "pequod.io/v1alpha1", "Span", h.Namespace), h.Await(t, "pequod.io/v1alpha1", "Other", h.Namespace)
	h.registered(t, "others.pequod.io", "spans.pequod.io")
	checked(t, spans, "Span")
	checked(t, others, "Other")

	t.Run("refused", func(t *testing.T) {
		for _, spec := range []string{"{min: 5, max: 1}", "{min: 5, max: -1}"} {
			in := instanceOf(t, "Span", "wrong", spec)
			_, err := apply(ctx, spans, in)
			want := `admission webhook "spans.pequod.io" denied the request: ` + validated(t, rangeTransform("Span"), in)
			if !apierrors.IsInvalid(err) || place.ReplaceAllString(err.Error(), "") != place.ReplaceAllString(want, "") {
				t.Errorf("%v\nwant %s", err, want)
			}
			var status *apierrors.StatusError
			if errors.As(err, &status) && (status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 || status.ErrStatus.Details.Causes[0].Field != "spec.max") {
				t.Errorf("details: %+v", status.ErrStatus.Details)
			}
		}
	})
	t.Run("defaults", func(t *testing.T) {
		// A default that depends on another field follows it: it isn't stored, neither by the
		// first apply nor by later ones, which change nothing else.
		for _, min := range []string{"5", "5", "50"} {
			stored, err := apply(ctx, spans, instanceOf(t, "Span", "good", "{min: "+min+"}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "max"); found {
				t.Errorf("stored with a default: %v", stored.Object["spec"])
			}
			if copies, _, _ := unstructured.NestedInt64(stored.Object, "spec", "copies"); copies != 1 {
				t.Errorf("stored without the CRD's default: %v", stored.Object["spec"])
			}
			if generation := map[string]int64{"5": 1, "50": 2}[min]; stored.GetGeneration() != generation {
				t.Errorf("generation %d, want %d", stored.GetGeneration(), generation)
			}
		}
		harness.Eventually(t, patience, func(ctx context.Context) error {
			object, err := h.Client.CoreV1().ConfigMaps(h.Namespace).Get(ctx, "good", metav1.GetOptions{})
			if err == nil && object.Data["max"] != "60" {
				err = fmt.Errorf("data: %v", object.Data)
			}
			return err
		})
	})
	t.Run("not checked", func(t *testing.T) {
		// An instance that became wrong can still change in what rendering doesn't read.
		label := []byte(`{"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}}`)
		if _, err := spans.Patch(ctx, "good", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
		if err := spans.Delete(ctx, "good", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := spans.Patch(ctx, "good", types.MergePatchType, []byte(`{"spec": {"max": 1}, "metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("Transforms", func(t *testing.T) {
		transforms := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
		for spec, want := range map[string]string{
			"{cueRef: {type: embedded, ref: webservise}}":                                    `spec.cueRef.ref: no embedded module "webservise"; there are: `,
			"{cueRef: {type: git, ref: 'http://example.com/a'}}":                             "spec.cueRef.ref: ",
			"{cueRef: {type: embedded, ref: webservice}, group: apps.k8s.io}":                "spec.group: the group apps.k8s.io is reserved",
			"{cueRef: {type: embedded, ref: webservice}, group: pequod.io, kind: Span}":      "spec.kind: CustomResourceDefinition spans.pequod.io exists: Transform pequod-system/span generates it",
			"{cueRef: {type: embedded, ref: webservice}, group: platform.x.io, kind: Thing}": "",
		} {
			object := map[string]any{}
			text := "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: new, namespace: pequod-system}\nspec: " + spec
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			_, err := transforms.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), `admission webhook "transforms.platform.pequod.io" denied the request: `+want)) {
				t.Errorf("%s: %v\nwant %s", spec, err, want)
			}
		}
		elsewhere := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", h.Namespace)
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(webService(h.Namespace)), &object); err != nil {
			t.Fatal(err)
		}
		_, err := elsewhere.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		if want := "metadata.namespace: Transforms of namespace " + h.Namespace + " are ignored"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	})
	t.Run("a module that runs for long", func(t *testing.T) {
		slow := make(chan error, 8)
		for i := range cap(slow) {
			go func() {
				_, err := apply(ctx, spans, instanceOf(t, "Span", fmt.Sprintf("slow-%d", i), "{min: 1}"), metav1.DryRunAll)
				slow <- err
			}()
		}
		for i := range 50 {
			began := time.Now()
			_, err := apply(ctx, others, instanceOf(t, "Other", "wrong", fmt.Sprintf("{min: %d, max: 1}", i+2)), metav1.DryRunAll)
			if !apierrors.IsInvalid(err) || time.Since(began) > 2*time.Second {
				t.Errorf("another platform: %v after %s", err, time.Since(began))
			}
		}
		for range cap(slow) {
			if err := <-slow; err != nil {
				t.Errorf("an instance that can't be checked: %v", err)
			}
		}
	})

	// Without the manager, nothing is refused, and what it would have refused is not rendered.
	p.Stop(t)
	wrong := instanceOf(t, "Other", "wrong", "{min: 5, max: 1}")
	if _, err := apply(ctx, others, wrong); err != nil {
		t.Errorf("while the manager doesn't run: %v", err)
	}
	h.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}")
	p = h.run(t)
	h.registered(t, "others.pequod.io", "spans.pequod.io")
	hasCondition(t, h.Cluster, "pequod.io/v1alpha1", "Other", h.Namespace, "wrong", "Ready", "False", "PolicyViolation")

	// A kind that goes takes its webhook along.
	transforms := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	if err := transforms.Delete(ctx, "span", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.registered(t, "others.pequod.io")

	// What is deleted comes back complete, whoever applies it again.
	if err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, hooks.Manager, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.configure(t)
	h.registered(t, "others.pequod.io")
	checked(t, others, "Other")
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// TestReplicasCheckInstances runs two replicas. The one that doesn't lead answers as the leader
// does, with the content that the leader has recorded.
func TestReplicasCheckInstances(t *testing.T) {
	t.Parallel()
	h := installHooks(t)
	ctx := t.Context()
	leader := h.run(t)
	h.Apply(t, rangeTransform("Span"))
	spans := h.Await(t, "pequod.io/v1alpha1", "Span", h.Namespace)
	h.registered(t, "spans.pequod.io")
	checked(t, spans, "Span")

	// The second one has another address, to which the webhooks move. It is ready when it
	// can answer.
	h.address = process.FreeAddress(t)
	h.run(t)
	move := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://%s%s"}]`, h.address, hooks.TransformsPath)
	if _, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, hooks.Manager, types.JSONPatchType, []byte(move), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		live, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, hooks.Manager, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, w := range live.Webhooks {
			if !strings.HasPrefix(*w.ClientConfig.URL, "https://"+h.address+"/") || len(w.ClientConfig.CABundle) == 0 {
				return fmt.Errorf("%s is called at %s", w.Name, *w.ClientConfig.URL)
			}
		}
		if len(live.Webhooks) != 2 {
			return errors.New("the webhook of spans is missing")
		}
		return nil
	})
	checked(t, spans, "Span")
	in := instanceOf(t, "Span", "wrong", "{min: 7, max: 1}")
	_, err := apply(ctx, spans, in)
	if want := validated(t, rangeTransform("Span"), in); err == nil || !strings.Contains(place.ReplaceAllString(err.Error(), ""), place.ReplaceAllString(want, "")) {
		t.Errorf("%v\nwant %s", err, want)
	}

	// Another module reaches it, after the leader has taken it over.
	h.Apply(t, strings.ReplaceAll(rangeTransform("Span"), "is less than", "is below"))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := apply(ctx, spans, in, metav1.DryRunAll); err == nil || !strings.Contains(err.Error(), "spec.max: is below spec.min, 7") {
			return fmt.Errorf("another answer: %w", err)
		}
		return nil
	})
	// It becomes the leader.
	leader.Stop(t)
	if _, err := apply(ctx, spans, instanceOf(t, "Span", "good", "{min: 7}")); err != nil {
		t.Fatal(err)
	}
	hasCondition(t, h.Cluster, "pequod.io/v1alpha1", "Span", h.Namespace, "good", "Ready", "True", "")
	checked(t, spans, "Span")
}

// topicTransform is the Transform of a kind with two versions, which differ in their fields.
var topicTransform = fmt.Sprintf(`apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: topic, namespace: %s}
spec:
  managedResources: [{apiGroup: '', resources: [configmaps]}]
  cueRef:
    type: inline
    files:
    - name: topic.cue
      content: |
        package topic

        #Platform: kind: "Topic"
        #Versions: {
        	v1: {
        		storage: true
        		#Input: {retention: days: *7 | int, readers: [...string]}
        	}
        	v1alpha1: {
        		loses: ["spec.readers"]
        		#Input: {keepDays: *7 | int, reader: string}
        		#ToStorage: {
        			input: #Input
        			output: {retention: days: input.keepDays, readers: [input.reader]}
        		}
        		#FromStorage: {
        			input: #Versions.v1.#Input
        			output: {keepDays: input.retention.days, reader: input.readers[0]}
        		}
        	}
        }
        #Render: {
        	input: {metadata: {name: string, namespace: string}, spec: #Versions.v1.#Input}
        	output: nodes: config: resource: {
        		apiVersion: "v1"
        		kind:       "ConfigMap"
        		metadata: name: input.metadata.name
        		data: {days: "\(input.spec.retention.days)", first: input.spec.readers[0]}
        	}
        }
`, process.Namespace)

// TestConversion holds that instances can be written and read in all versions of their kind, and
// what happens to the definition when authorities, and the flag, change.
func TestConversion(t *testing.T) {
	t.Parallel()
	h := installHooks(t)
	ctx := t.Context()
	p := h.run(t)
	h.Apply(t, topicTransform)
	hasCondition(t, h.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "topic", "Ready", "True", "")
	old, stored := h.Await(t, "pequod.io/v1alpha1", "Topic", h.Namespace), h.Await(t, "pequod.io/v1", "Topic", h.Namespace)
	spec := func(of dynamic.ResourceInterface, name string) string {
		t.Helper()
		object, err := of.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(object.Object["spec"])
	}
	topic := func(version, name, spec string) *unstructured.Unstructured {
		in := instanceOf(t, "Topic", name, spec)
		in.SetAPIVersion("pequod.io/" + version)
		return in
	}
	if _, err := apply(ctx, old, topic("v1alpha1", "first", "{reader: billing, keepDays: 30}")); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(ctx, stored, topic("v1", "second", "{retention: {days: 3}, readers: [search]}")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		of         dynamic.ResourceInterface
		name, want string
	}{
		{old, "first", "map[keepDays:30 reader:billing]"}, {stored, "first", "map[readers:[billing] retention:map[days:30]]"},
		{old, "second", "map[keepDays:3 reader:search]"}, {stored, "second", "map[readers:[search] retention:map[days:3]]"},
	} {
		if got := spec(test.of, test.name); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	// The other versions read, and the manager renders, the values that one version writes.
	if _, err := stored.Patch(ctx, "first", types.MergePatchType, []byte(`{"spec": {"retention": {"days": 5}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := spec(old, "first"); got != "map[keepDays:5 reader:billing]" {
		t.Error(got)
	}
	all, err := old.List(ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) != 2 || all.Items[0].GetAPIVersion() != "pequod.io/v1alpha1" {
		t.Errorf("%v, %v", all, err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		object, err := h.Client.CoreV1().ConfigMaps(h.Namespace).Get(ctx, "first", metav1.GetOptions{})
		if err == nil && (object.Data["days"] != "5" || object.Data["first"] != "billing") {
			err = fmt.Errorf("data: %v", object.Data)
		}
		return err
	})

	definitions := h.Await(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	conversion := func(ctx context.Context) (map[string]any, error) {
		crd, err := definitions.Get(ctx, "topics.pequod.io", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		c, _, err := unstructured.NestedMap(crd.Object, "spec", "conversion")
		return c, err
	}
	// Other authorities reach the definition.
	before, err := conversion(ctx)
	if err != nil || before["strategy"] != "Webhook" {
		t.Fatalf("%v, %v", before, err)
	}
	if err := h.Client.CoreV1().Secrets(process.Namespace).Delete(ctx, hooks.SecretOf(hooks.Manager), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		now, err := conversion(ctx)
		if err == nil && fmt.Sprint(now) == fmt.Sprint(before) {
			err = errors.New("the authorities are the old ones")
		}
		return err
	})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := old.Get(ctx, "first", metav1.GetOptions{})
		return err
	})
	// Without the flag, API servers convert by themselves again.
	converts := func(strategy string) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			now, err := conversion(ctx)
			if err == nil && (now["strategy"] != strategy || (now["webhook"] == nil) != (strategy == "None")) {
				err = fmt.Errorf("conversion: %v", now)
			}
			return err
		})
	}
	p.Stop(t)
	p = start(t, h.Cluster)
	converts("None")
	if got := spec(stored, "second"); got != "map[readers:[search] retention:map[days:3]]" {
		t.Error(got)
	}
	hasCondition(t, h.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "topic", "Ready", "True", "")
	if _, err := old.Get(ctx, "first", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	// And without the manager.
	p.Stop(t)
	p = h.run(t)
	converts("Webhook")
	p.Stop(t)
	if out := process.Pequod(t, h.Cluster, 0, "uninstall", "--mode=operator", "--yes"); !strings.Contains(out, "customresourcedefinition.apiextensions.k8s.io/topics.pequod.io patched\n") {
		t.Error(out)
	}
	converts("None")
}
