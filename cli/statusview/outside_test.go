package statusview_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/statusview"
)

// receiver returns a Receiver whose status is about a generation.
func receiver(namespace string, generation, observed int64, ready metav1.ConditionStatus) *v1alpha1.Receiver {
	r := &v1alpha1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "runs", Generation: generation}}
	r.Spec.Source.Poll = &v1alpha1.PollSource{}
	r.Status.ObservedGeneration = observed
	r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: ready, Reason: "SourceFailed", Message: "the server answers 500"}}
	return r
}

// row returns the state of a Receiver.
func row(t *testing.T, r *v1alpha1.Receiver) statusview.Row {
	t.Helper()
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		t.Fatal(err)
	}
	state, err := statusview.NewRow(&unstructured.Unstructured{Object: obj}, false)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestOutside checks that a status counts for its own generation only, and that objects of several
// namespaces have a column for it.
func TestOutside(t *testing.T) {
	var o statusview.Outside
	for _, r := range []*v1alpha1.Receiver{
		receiver("web", 1, -1, metav1.ConditionTrue),
		receiver("shop", 2, 1, metav1.ConditionTrue),
		receiver("app", 1, 1, metav1.ConditionFalse),
		{ObjectMeta: metav1.ObjectMeta{Namespace: "new", Name: "runs"}},
	} {
		o.Add(row(t, r))
	}
	o.Sort()
	if o.Ready() || o.Empty() {
		t.Errorf("ready: %t, empty: %t", o.Ready(), o.Empty())
	}
	const want = `NAMESPACE   RECEIVER   SOURCE   READY   DEAD LETTERS   MESSAGE
app         runs       poll     False   0              the server answers 500
new         runs       <none>   False   0              <none>
shop        runs       poll     False   0              pequod-actions hasn't seen its last change yet
web         runs       poll     False   0              pequod-actions hasn't seen it yet
`
	got := strings.Join(statusview.TableTexts(o, statusview.Tables{}), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	o.Receivers = []statusview.Row{row(t, receiver("shop", 1, 1, metav1.ConditionTrue))}
	if !o.Ready() {
		t.Error("a Receiver that is ready isn't")
	}
}
