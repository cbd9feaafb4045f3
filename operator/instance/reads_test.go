package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

func (b *env) instances() dynamic.ResourceInterface {
	b.t.Helper()
	return b.Await(b.t, b.entry.Names.Group+"/"+b.entry.Names.Version, b.entry.Names.Kind, b.Namespace)
}

func (b *env) graphs() dynamic.ResourceInterface {
	return b.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(b.Namespace)
}

// apply applies an instance as kubectl apply --server-side does. Spec is YAML.
func (b *env) apply(name, spec string) *unstructured.Unstructured {
	b.t.Helper()
	in := b.manifest(name, spec)
	stored, err := b.instances().Apply(b.t.Context(), name, in, metav1.ApplyOptions{FieldManager: "developer", Force: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return stored
}

// manifest returns an instance as a developer writes it.
func (b *env) manifest(name, spec string) *unstructured.Unstructured {
	b.t.Helper()
	in := &unstructured.Unstructured{Object: map[string]any{}}
	in.SetAPIVersion(b.entry.Names.Group + "/" + b.entry.Names.Version)
	in.SetKind(b.entry.Names.Kind)
	in.SetName(name)
	if b.entry.Names.Scope == v1alpha1.ScopeNamespaced {
		in.SetNamespace(b.Namespace)
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		b.t.Fatal(err)
	}
	in.Object["spec"] = content
	return in
}

// merge changes an instance as kubectl patch does.
func (b *env) merge(name, patch string) {
	b.t.Helper()
	if _, err := b.instances().Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// app is an instance as the tests read it.
type app struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase                  string             `json:"phase"`
		ObservedGeneration     int64              `json:"observedGeneration"`
		LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
		Conditions             []metav1.Condition `json:"conditions"`
		Outputs                map[string]any     `json:"outputs"`
		ResourceGraphRef       struct{ Name, Namespace string }
		Module                 struct{ Digest, Version string }
		Nodes                  struct{ Total, Ready, Failed int }
		FirstFailure           *struct{ Node, Reason, Message string }
	} `json:"status"`
}

func (b *env) read(ctx context.Context, name string) (*app, error) {
	obj, err := b.instances().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	a := &app{}
	return a, json.Unmarshal(raw, a)
}

// until waits for an instance to be as a check wants it.
func (b *env) until(name string, check func(*app) error) *app {
	b.t.Helper()
	var found *app
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		a, err := b.read(ctx, name)
		if err != nil {
			return err
		}
		if err := check(a); err != nil {
			status, _ := yaml.Marshal(a.Status)
			return fmt.Errorf("%w:\n%s", err, status)
		}
		found = a
		return nil
	})
	return found
}

// condition wants a condition Ready of the generation that is stored.
func condition(status metav1.ConditionStatus, reason, message string) func(*app) error {
	return func(a *app) error {
		c := meta.FindStatusCondition(a.Status.Conditions, "Ready")
		switch {
		case c == nil:
			return errors.New("no condition Ready")
		case a.Status.ObservedGeneration != a.Generation || c.ObservedGeneration != a.Generation:
			return fmt.Errorf("generation %d isn't observed", a.Generation)
		case c.Status != status || reason != "" && c.Reason != reason || !strings.Contains(c.Message, message):
			return fmt.Errorf("Ready is %s %s: %s; want %s %s: %s", c.Status, c.Reason, c.Message, status, reason, message)
		}
		return nil
	}
}

func (b *env) ready(name string) *app {
	b.t.Helper()
	return b.until(name, condition("True", "", ""))
}

// graph returns the graph of a namespaced instance.
func (b *env) graph(name string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg, err := b.readGraph(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return rg
}

func (b *env) readGraph(ctx context.Context, name string) (*v1alpha1.ResourceGraph, error) {
	obj, err := b.graphs().Get(ctx, b.graphName(name), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	rg := &v1alpha1.ResourceGraph{}
	return rg, json.Unmarshal(raw, rg)
}

func (b *env) graphName(name string) string {
	return v1alpha1.GraphName(b.entry.Names.Group, b.entry.Names.Kind, b.Namespace, name)
}

// text returns the text of a ConfigMap, or an error.
func (b *env) text(ctx context.Context, name string) string {
	cm, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return cm.Data["text"]
}

// eventually waits until a condition holds.
func (b *env) eventually(what string, ok func(ctx context.Context) bool) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		if !ok(ctx) {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

// events returns the Events of an instance, as "REASON: NOTE".
func (b *env) events(ctx context.Context, name string) []string {
	list, err := b.Client.EventsV1().Events(b.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	var texts []string
	for _, e := range list.Items {
		if e.Regarding.Kind == b.entry.Names.Kind && e.Regarding.Name == name {
			texts = append(texts, e.Reason+": "+e.Note)
		}
	}
	return texts
}

// event waits for an Event of an instance that begins with a text.
func (b *env) event(name, text string) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		seen := b.events(ctx, name)
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, text) }) {
			return nil
		}
		return fmt.Errorf("no Event %q; but %q", text, seen)
	})
}

// kubectl runs kubectl in the test's namespace.
func (b *env) kubectl(args ...string) (string, error) {
	b.t.Helper()
	dir := b.t.TempDir()
	harness.Kubectl(b.t, dir)
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(dir, "kubectl"), append(args, "--kubeconfig="+b.Kubeconfig, "-n", b.Namespace)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

type ctx = context.Context

func (b *env) background() ctx { return context.WithoutCancel(b.t.Context()) }

// object returns a graph as it is sent to the API server.
func object(t testing.TB, rg *v1alpha1.ResourceGraph) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}
}

func isGone(err error) bool { return apierrors.IsNotFound(err) }
