package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// minSecret is the length from which a value of a Secret is searched for. Shorter ones
// occur by chance.
const minSecret = 7

// withStatus are the kinds of Pequod with a status in the namespaces of users.
var withStatus = []string{"resourcegraphs", "actions", "monitors", "receivers"}

// SearchSecrets fails the test if a value of a Secret of its namespace is in an Event,
// in an inventory, or in the status of a graph, an Action, a Monitor or a Receiver, which
// includes its history. It runs at the end of every test and ignores errors: the server may be gone.
func (c *Cluster) SearchSecrets(ctx context.Context, t testing.TB) {
	t.Helper()
	values := c.secretValues(ctx)
	if len(values) == 0 {
		return
	}
	shown := map[string]any{}
	// The API server stores the Events of both API groups as the same objects.
	shown["an Event"], _ = c.Client.EventsV1().Events(c.Namespace).List(ctx, metav1.ListOptions{})
	shown["an inventory"], _ = c.Client.CoreV1().ConfigMaps(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "pequod.io/inventory"})
	for _, resource := range withStatus {
		kind := schema.GroupVersionResource{Group: "platform.pequod.io", Version: "v1alpha1", Resource: resource}
		objects, err := c.Dynamic.Resource(kind).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, obj := range objects.Items {
			status, _, _ := unstructured.NestedMap(obj.Object, "status")
			shown["the status of "+obj.GetKind()+" "+obj.GetName()] = status
		}
	}
	for where, v := range shown {
		if text, err := json.Marshal(v); err == nil {
			values.search(t, where, string(text))
		}
	}
}

// SearchOutput fails the test if a value of a Secret of its namespace is in a text, such
// as the output of a command.
func (c *Cluster) SearchOutput(ctx context.Context, t testing.TB, where, text string) {
	t.Helper()
	c.secretValues(ctx).search(t, where, text)
}

// secretValues are values of Secrets, with the forms in which each may be shown.
type secretValues map[string][]string

// secretValues returns the values of the Secrets in the test's namespace.
func (c *Cluster) secretValues(ctx context.Context) secretValues {
	secrets, err := c.Client.CoreV1().Secrets(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	values := secretValues{}
	for _, secret := range secrets.Items {
		for key, value := range secret.Data {
			if len(value) < minSecret {
				continue
			}
			// The last digits are others if the value is the beginning of a text.
			encoded := strings.TrimRight(base64.StdEncoding.EncodeToString(value), "=")
			quoted, _ := json.Marshal(string(value)) // of a string, it cannot fail
			values[secret.Name+"."+key] = []string{string(value), string(quoted[1 : len(quoted)-1]), encoded[:len(encoded)-1]}
		}
	}
	return values
}

// search fails the test if one of the values is in a text.
func (v secretValues) search(t testing.TB, where, text string) {
	t.Helper()
	for name, forms := range v {
		for _, form := range forms {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s shows %q, the value of %s in a Secret: …%s…", where, form, name, text[max(0, i-300):min(len(text), i+len(form)+100)])
				break
			}
		}
	}
}
