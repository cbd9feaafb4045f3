package applier_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// Discovery lags behind the condition Established of a CustomResourceDefinition. A plan
// looks at the cluster once, so it waits for the kind.
func TestPlanAfterDefinition(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	group := c.Unique("lag") + ".example.com"
	c.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.`+group+`}
spec:
  group: `+group+`
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
	proxy := c.Proxy(t, 1)
	proxy.Inject(faults.Rule{Resources: []string{"/apis/" + group + "/v1"}, Times: 5, Faults: []faults.Fault{faults.Status{Code: http.StatusNotFound}}})
	a := envOn(t, c, proxy.Config(c.Config)).applier
	_, lines := planOf(t, a, parse(t, c, "web", `nodes: [{id: thing, resource: {apiVersion: `+group+`/v1, kind: Thing, metadata: {name: x}}}]`), applier.PlanOptions{})
	if diff := cmp.Diff([]string{"thing: created"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
