package resolve

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const outputs = `
nodes:
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: service}}
- id: secret
  resource: {apiVersion: v1, kind: Secret, metadata: {name: secret}}
outputs:
  literal: {a: [1, x, null]}
  endpoint: {$from: "'http://' + service.spec.clusterIP"}
  inside: {list: [{$from: service.spec.clusterIP}, b]}
  absent: {$from: "service.?spec.?externalName"}
  later: {$from: service.status.x}
  both: {a: {$from: service.status.x}, b: {$from: service.spec.clusterIP + 1}, c: {$from: service.status.y}}
  twice: {a: {$from: service.status.x}, b: {$from: service.status.y}}
  password: {$from: dyn(secret).data.password}
  key: {$from: secret.data.password}
  everything: {$from: secret}
  uid: {$from: secret.metadata.uid}
`

func TestOutputs(t *testing.T) {
	r := resolver(t, outputs)
	for range 2 { // resolving doesn't change the graph
		values, errs := r.Outputs(live(t, liveObjects))
		wantValues := map[string]any{
			"literal": map[string]any{"a": []any{int64(1), "x", nil}}, "endpoint": "http://10.0.0.1",
			"inside": map[string]any{"list": []any{"10.0.0.1", "b"}}, "uid": "u1",
		}
		if diff := cmp.Diff(wantValues, values); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		got := map[string]string{}
		for name, err := range errs {
			var wait *WaitError
			got[name] = fmt.Sprintf("%t %v", errors.As(err, &wait), err)
		}
		wantErrs := map[string]string{
			"later":      "true outputs.later: waits for service.status",
			"twice":      "true outputs.twice.a: waits for service.status",
			"both":       "false outputs.both.b: + doesn't take a string and a number (in service.spec.clusterIP + 1)",
			"password":   "false outputs.password: values of the Secret of node secret never go into outputs (in dyn(secret).data.password)",
			"key":        "false outputs.key: values of the Secret of node secret never go into outputs (in secret.data.password)",
			"everything": "false outputs.everything: values of the Secret of node secret never go into outputs (in secret)",
		}
		if diff := cmp.Diff(wantErrs, got); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	}
}
