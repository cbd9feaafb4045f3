package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestReceiverDeletes deletes objects that are older than the message, as the account that may. A newer one
// stays, and an Event and the answer say so. Kinds, rights and the form of the message are checked as for apply.
func TestReceiverDeletes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+strings.ReplaceAll(orders, "verbs: [get, create, patch]", "verbs: [get, delete]"))
	address := process.FreeAddress(t)
	e.run(t, "--receiver-addr="+address, "--receiver-kinds=Order.shop.example.com,Other.shop.example.com")
	e.receiver(t, "hook", `
  source: {webhook: {type: bearer, secretRef: {name: hook}}}
  do: [{delete: {object: body.object, before: body.at}}]
`)
	hook := "http://" + address + e.receiving(t, "hook", "Receiving")
	stored := e.Apply(t, `{apiVersion: shop.example.com/v1, kind: Order, metadata: {name: a}, spec: {size: 1}}`)[0]
	created := e.Get(t, "shop.example.com/v1", "Order", stored.GetName()).GetCreationTimestamp().Time
	message := func(at time.Time, object string) string {
		return fmt.Sprintf(`{"at": %q, "object": %s}`, at.UTC().Format(time.RFC3339), object)
	}
	const order = `{"apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": {"name": "a"}}`
	later := created.Add(time.Second)
	for _, test := range []struct {
		what, body string
		code       int
		text       string
	}{
		{"the same second", message(created, order), 409, "nothing is done: the message is older than the object"},
		{"an earlier message", message(created.Add(-time.Hour), order), 409, "nothing is done"},
		{"the future", message(time.Now().Add(time.Hour), order), 422, "refused"},
		{"no time", `{"object": ` + order + `}`, 422, "refused"},
		{"another kind", message(later, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook"}}`), 422, "refused"},
		{"another place", message(later, strings.Replace(order, `"a"`, `"a", "namespace": "kube-system"`, 1)), 422, "refused"},
		{"a spec", message(later, strings.Replace(order, `"kind"`, `"spec": {}, "kind"`, 1)), 422, "refused"},
		{"a later message", message(later, order), 200, "done"},
		{"it is gone", message(later, order), 200, "done"},
	} {
		harness.Eventually(t, patience, func(context.Context) error {
			code, text := bear(t, hook, test.body)
			if code == 404 { // the path isn't served yet
				return fmt.Errorf("%s", text)
			}
			if code != test.code || !strings.Contains(text, test.text) {
				t.Errorf("%s: %d %s", test.what, code, text)
			}
			return nil
		})
	}
	orders := e.Await(t, "shop.example.com/v1", "Order", "")
	if _, err := orders.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the order is there: %v", err)
	}
	e.AwaitEvent(t, patience, "Receiver", "hook", "MessageOutdated", "do[0]: Order a stays: it was created at ")
	e.AwaitEvent(t, patience, "Receiver", "hook", "MessageRefused", "do[0]: ")
	receivers := e.Await(t, "platform.pequod.io/v1alpha1", "Receiver", "")
	unsafe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "platform.pequod.io/v1alpha1", "kind": "Receiver", "metadata": map[string]any{"name": "unsafe"},
		"spec": map[string]any{
			"serviceAccountName": "runner", "source": map[string]any{"webhook": map[string]any{"type": "bearer", "secretRef": map[string]any{"name": "hook"}}},
			"do": []any{map[string]any{"delete": map[string]any{"object": "body"}}},
		},
	}}
	if _, err := receivers.Create(t.Context(), unsafe, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "uid or before is required") {
		t.Errorf("a deletion without a UID and a time: %v", err)
	}
}
