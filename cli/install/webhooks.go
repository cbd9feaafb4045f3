package install

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// additions are the lines that the components config/webhook and config/webhook/manager add to
// the objects of the program, by the lines before them.
var additions = [][2]string{
	{"        - --leader-elect\n", "        - --webhooks\n"},
	{"        - containerPort: 8081\n          name: probes\n", "        - containerPort: 9443\n          name: webhook\n"},
	{"    - port: probes\n      protocol: TCP\n", "    - port: webhook\n      protocol: TCP\n"},
}

// withWebhooks makes the program of the manifests serve its webhooks, as the component does.
func withWebhooks(text string) string {
	for _, a := range additions {
		if strings.Count(text, a[0]) != 1 {
			panic("the manifests have other lines than expected: " + a[0])
		}
		text = strings.Replace(text, a[0], a[0]+a[1], 1)
	}
	return text
}

// webhookSecret returns the Secret that a program with webhooks creates, or nil.
func (r *remover) webhookSecret(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.mode.webhookName == "" {
		return nil, nil
	}
	named := &unstructured.Unstructured{}
	named.SetAPIVersion("v1")
	named.SetKind("Secret")
	named.SetNamespace(installNamespace)
	named.SetName(r.mode.webhookName + "-cert") // operator/admission/serve has the same name
	return r.get(ctx, named)
}

// withoutAbsent drops the entries of components from those of objects that may have been
// installed, unless one of the component exists or can't be read: otherwise every installation
// without the component would report that it deletes it.
func withoutAbsent(ctx context.Context, c *cluster.Client, left []inventory.Entry) []inventory.Entry {
	for _, name := range []string{"pequod-webhook", "pequod-manager-webhook", "pequod-manager-constrained"} {
		ofComponent := func(e inventory.Entry) bool { return e.Key.Name == name }
		present := slices.ContainsFunc(left, func(e inventory.Entry) bool {
			if !ofComponent(e) {
				return false
			}
			live, err := c.Get(ctx, e.Key, e.Version)
			return live != nil || err != nil
		})
		if !present {
			left = slices.DeleteFunc(slices.Clone(left), ofComponent)
		}
	}
	return left
}
