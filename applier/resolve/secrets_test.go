package resolve

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// copies returns a graph with a Secret that reads another Secret.
const copies = `
nodes:
- id: copy
  resource:
    apiVersion: v1
    kind: Secret
    metadata: {name: copy, annotations: %s}
    data: %s
- id: secret
  externalRef: {apiVersion: v1, kind: Secret, name: secret}
`

func TestSecretToSecret(t *testing.T) {
	r := resolver(t, fmt.Sprintf(copies, "{}", "{password: {$from: secret.data.password}}"))
	got, err := r.Object(0, live(t, liveObjects))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"password": "aHVudGVyMg=="}, got.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// Errors must not show values of Secrets.
func TestSecretErrors(t *testing.T) {
	for _, test := range []struct{ name, annotations, data, want string }{
		{"outside of data", "{a: {$from: dyn(secret).data.password}}", "{}",
			"node copy: resource.metadata.annotations.a: values of the Secret of node secret may only be read into data or stringData of a Secret (in dyn(secret).data.password)"},
		{"conversion", "{}", "{a: {$from: string(int(secret.data.password))}}",
			"node copy: resource.data.a: can't be evaluated; the cause isn't shown because it may quote a Secret (in string(int(secret.data.password)))"},
		{"as a key of data", "{}", "{$from: '{secret.data.password: secret.data.password}'}",
			"node copy: resource.data: values of the Secret of node secret may only be read into data or stringData of a Secret (in {secret.data.password: secret.data.password})"},
		{"left out", "{}", "{a: {$from: 'secret.data.password == \"x\" ? optional.of(\"eA==\") : optional.none()'}}",
			`node copy: resource.data.a: reads a Secret, so its value must be a string (in secret.data.password == "x" ? optional.of("eA==") : optional.none())`},
		{"a map", "{}", "{a: {$from: '{secret.data.password: 1}'}}",
			"node copy: resource.data.a: reads a Secret, so its value must be a string (in {secret.data.password: 1})"},
		{"a key that isn't spelled out", "{}", "{a: {$from: 'secret.data.map(k, secret.data[k])[0] + secret.data.other'}}",
			"node copy: resource.data.a: waits for what it reads of secret"},
		{"as key", "{}", "{a: {$from: 'secret.metadata[secret.data.password]'}}",
			"node copy: resource.data.a: waits for what it reads of secret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := resolver(t, fmt.Sprintf(copies, test.annotations, test.data)).Object(0, live(t, liveObjects))
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
