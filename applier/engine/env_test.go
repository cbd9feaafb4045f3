package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

var (
	self  = inventory.Owner{Namespace: "default", Name: "g"}
	other = inventory.Owner{Namespace: "default", Name: "other"}
)

// env is an engine together with a test that answers its actions.
type env struct {
	*testing.T
	*Engine
	now  time.Time
	todo []Action
	last Step
}

// newEnv returns an engine for a spec in YAML.
func newEnv(t *testing.T, spec string, stored *inventory.Inventory, opts Options) *env {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name = self.Namespace, self.Name
	if err := yaml.UnmarshalStrict([]byte(spec), &rg.Spec); err != nil {
		t.Fatal(err)
	}
	if opts.Namespaced == nil {
		opts.Namespaced = func(schema.GroupVersionKind) (namespaced, known bool) { return true, true }
	}
	e, err := New(rg, stored, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &env{T: t, Engine: e, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// step runs one step and returns its actions as text: "Apply a, Record".
func (b *env) step() string {
	b.last = b.Step(b.now)
	b.todo = append(b.todo, b.last.Actions...)
	var texts []string
	for _, a := range b.last.Actions {
		text := string(a.Verb)
		if a.Key.Name != "" {
			text += " " + a.Key.Name
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// answer passes the outcome of the oldest action with a verb to the engine.
func (b *env) answer(verb Verb, o Outcome) Action {
	b.Helper()
	i := slices.IndexFunc(b.todo, func(a Action) bool { return a.Verb == verb })
	if i < 0 {
		b.Fatalf("%s wasn't asked for; these were: %v", verb, b.todo)
	}
	a := b.todo[i]
	b.todo = slices.Delete(b.todo, i, i+1)
	if verb == Record && o.Err == nil {
		o.Saved = a.Inventory
	}
	b.Done(a, o)
	return a
}

// survey runs the first step and answers its Survey with these objects.
func (b *env) survey(objects ...*unstructured.Unstructured) {
	b.Helper()
	b.step()
	b.answer(Survey, Outcome{Objects: objects})
}

// expect runs a step and checks its actions.
func (b *env) expect(want string) {
	b.Helper()
	if got := b.step(); got != want {
		b.Fatalf("the step asks for %q, want %q; statuses: %s", got, want, b.show())
	}
}

// show returns the statuses, one per line: "a Failed Conflict: the message".
func (b *env) show() string {
	var lines []string
	for _, s := range b.Statuses() {
		name := s.ID
		if name == "" {
			name = s.Key.Name
		}
		line := name + " " + string(s.Phase)
		if s.Reason != "" {
			line += " " + s.Reason
		}
		if s.Message != "" {
			line += ": " + s.Message
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (b *env) wantShow(want ...string) {
	b.Helper()
	if got := b.show(); got != strings.Join(want, "\n") {
		b.Fatalf("statuses:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// live returns an object from YAML. With an owner it has the labels and managed
// fields that an apply of that graph sets.
func live(t testing.TB, owner inventory.Owner, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	if u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	if owner.Name == "" {
		return u
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	set := map[string]any{}
	for name, v := range owner.Labels() {
		labels[name] = v
		set["f:"+name] = map[string]any{}
	}
	u.SetLabels(labels)
	data := map[string]any{}
	for name := range u.Object {
		if name == "data" {
			for key := range u.Object["data"].(map[string]any) {
				data["f:"+key] = map[string]any{}
			}
		}
	}
	metadata := u.Object["metadata"].(map[string]any)
	if metadata["managedFields"] == nil {
		metadata["managedFields"] = []any{map[string]any{
			"manager": FieldManager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": set}, "f:data": data},
		}}
	}
	return u
}

// configMap returns a live ConfigMap with data a: value.
func configMap(t testing.TB, owner inventory.Owner, name, uid string, version int, value string) *unstructured.Unstructured {
	return live(t, owner, fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, uid: %s, resourceVersion: %q}, data: {a: %q}}", name, uid, fmt.Sprint(version), value))
}

// result returns the outcome of a successful Apply: the desired object.
func result(t testing.TB, a Action, uid string, version int) Outcome {
	t.Helper()
	raw, err := json.Marshal(a.Apply.Object)
	if err != nil {
		t.Fatal(err)
	}
	u := live(t, self, string(raw))
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(fmt.Sprint(version))
	return Outcome{Object: u, Created: a.Apply.UID == "", Changed: true}
}

// applyNext answers the oldest Apply with success.
func (b *env) applyNext(uid string, version int) Action {
	b.Helper()
	i := slices.IndexFunc(b.todo, func(a Action) bool { return a.Verb == Apply })
	if i < 0 {
		b.Fatalf("nothing is to be applied; %v", b.todo)
	}
	return b.answer(Apply, result(b, b.todo[i], uid, version))
}

// complete answers every action with success until the graph is Completed, and
// returns the inventory.
func (b *env) complete() *inventory.Inventory {
	b.Helper()
	for n := 1; n < 100; n++ {
		b.step()
		if b.last.Phase == Completed && len(b.todo) == 0 {
			return b.Inventory()
		}
		for len(b.todo) > 0 {
			if b.todo[0].Verb == Apply {
				b.applyNext(fmt.Sprint("u-", b.todo[0].Key.Name), n)
			} else {
				b.answer(b.todo[0].Verb, Outcome{})
			}
		}
	}
	b.Fatalf("it doesn't complete: %s\n%s", b.last.Phase, b.show())
	return nil
}
