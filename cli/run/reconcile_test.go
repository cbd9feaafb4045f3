package run

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestOutcome checks when a requested reconciliation has ended, and how.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status string
		want   outcome
	}{
		{`{}`, outcome{message: "no controller has begun it yet"}},
		{`{reconcileRequestedAt: earlier, observedGeneration: 2, conditions: [{type: Ready, status: "True", message: old}]}`,
			outcome{message: "no controller has begun it yet"}},
		{`{reconcileRequestedAt: now, observedGeneration: 1, conditions: [{type: Ready, status: "True", message: old}]}`, outcome{message: "old"}},
		{`{reconcileRequestedAt: now, observedGeneration: 2, conditions: [{type: Ready, status: "False", message: m}, {type: Reconciling, status: "True"}]}`,
			outcome{message: "m"}},
		{`{reconcileRequestedAt: now, observedGeneration: 2, conditions: [{type: Ready, status: Unknown, message: m}]}`, outcome{message: "m"}},
		{`{reconcileRequestedAt: now, observedGeneration: 2, conditions: [{type: Ready, status: "False", message: m}, {type: Stalled, status: "True"}]}`,
			outcome{ended: true, message: "m"}},
		{`{reconcileRequestedAt: now, observedGeneration: 2, conditions: [{type: Ready, status: "True", message: m}]}`,
			outcome{ended: true, ready: true, message: "m"}},
		{`{lastHandledReconcileAt: now, observedGeneration: 2, conditions: [{type: Ready, status: "True", message: m}]}`,
			outcome{ended: true, ready: true, message: "m"}},
	} {
		obj := &unstructured.Unstructured{}
		text := `{metadata: {generation: 2, annotations: {pequod.io/reconcile-requested-at: now}}, status: ` + test.status + `}`
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := obj.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "X", ` + string(raw[1:]))); err != nil {
			t.Fatal(err)
		}
		if got := outcomeOfObject(obj); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.status, got, test.want)
		}
	}
}
