package effect

import (
	"net/http"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// FuzzMessage decides about messages with any body and header, such as CloudEvents, and makes the object
// of their bodies. An object that is accepted is in the namespace of the Receiver, and has no metadata
// with which it could do more than its spec says.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		`{"specversion": "1.0", "id": "1", "source": "/x", "type": "dev.cdevents.build.finished", "data": {"object": {"apiVersion": "v1", "kind": "Order", "metadata": {"name": "a"}}}}`,
		`{"apiVersion": "v1", "kind": "Order", "metadata": {"name": "a", "namespace": "kube-system"}}`,
		`{"apiVersion": "v1", "kind": "Order", "metadata": {"name": "a", "finalizers": ["x/y"], "ownerReferences": []}}`,
		`{"apiVersion": 1, "kind": ["Order"], "metadata": null}`, `{"at": "2026-11-27T00:00:00Z", "kind": 1e400}`, `[[[[[[1]]]]]]`, "a=b", "",
	} {
		f.Add([]byte(body), "1")
	}
	spec := v1alpha1.ReceiverSpec{
		Filter: `headers["ce-id"] != "" || body.type.startsWith("dev.")`, Dedupe: &v1alpha1.ReceiverDedupe{Key: `headers["ce-id"] + digest`},
	}
	replay := v1alpha1.ReceiverSpec{Replay: &v1alpha1.ReceiverReplay{Timestamp: "body.at"}}
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte, id string) {
		m := source.New(id, http.Header{"Ce-Id": {id}}, body)
		o, err := decide(&spec, m, now)
		if err == nil && !o.skip && o.key != id+m.Digest {
			t.Errorf("the key %q", o.key)
		}
		_, _ = decide(&replay, m, now) // it is in the window or not
		for _, expr := range []string{"body", "body.data.object"} {
			value, err := expression.Eval(expression.Message(), expr, vars(m))
			if err != nil {
				continue
			}
			object, err := objectOf(value, "shop")
			if err != nil {
				continue
			}
			if object.GetNamespace() != "shop" || object.GetName() == "" || len(object.GetFinalizers())+len(object.GetOwnerReferences()) > 0 || object.GetUID() != "" {
				t.Errorf("the object %v", object)
			}
		}
	})
}
