package applier_test

import (
	"strings"
	"testing"

	"github.com/pequod-io/pequod/applier/engine"
)

// An object whose owner doesn't exist isn't created, because the garbage collector would delete
// it, again and again.
func TestOwnerIsMissing(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := `nodes: [{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: UID}]}}}]`
	missing := strings.Replace(graph, "UID", "11111111-1111-1111-1111-111111111111", 1)
	b.stuck(b.graph("g", missing), "c", engine.ReasonOwnerMissing, "its owner ConfigMap owner with UID 11111111-1111-1111-1111-111111111111 doesn't exist")
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`)
	b.stuck(b.graph("g", missing), "c", engine.ReasonOwnerMissing, "garbage collector")
	owner := b.Get(t, "v1", "ConfigMap", "owner")
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, "UID", string(owner.GetUID()), 1))), "c created")
}
