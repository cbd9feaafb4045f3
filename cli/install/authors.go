package install

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// additions are the lines that the component config/webhook adds to objects of
// config/applier, by the lines before them.
var additions = [][2]string{
	{"        - --leader-elect\n", "        - --webhooks\n"},
	{"        - containerPort: 8081\n          name: probes\n", "        - containerPort: 9443\n          name: webhook\n"},
	{"    - port: probes\n      protocol: TCP\n", "    - port: webhook\n      protocol: TCP\n"},
}

// checkAuthors adds the webhook that checks the authors of graphs to the manifests, as
// config/webhook does.
func checkAuthors(text string) string {
	for _, a := range additions {
		if strings.Count(text, a[0]) != 1 {
			panic("config/applier has other lines than expected: " + a[0])
		}
		text = strings.Replace(text, a[0], a[0]+a[1], 1)
	}
	return text
}

// webhookSecret returns the Secret that an applier with a webhook creates, or nil.
func (r *remover) webhookSecret(ctx context.Context) (*unstructured.Unstructured, error) {
	named := &unstructured.Unstructured{}
	named.SetAPIVersion("v1")
	named.SetKind("Secret")
	named.SetNamespace(installNamespace)
	named.SetName("pequod-webhook-cert") // operator/admission/serve has the same name
	return r.get(ctx, named)
}
