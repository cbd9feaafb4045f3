package applier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/applier"
)

// A run that waits while another revision is applied ends: it notices before it writes,
// or when it records. The objects that it wrote are in the inventory of the other run,
// and the next run prunes them.
func TestSuperseded(t *testing.T) {
	for _, test := range []struct {
		name  string
		later time.Duration // how far the clock of the first run jumps
	}{{"long after", time.Hour}, {"at once", 0}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newEnv(t)
			var jumped atomic.Int64
			slow := *b.applier
			slow.Now = func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }
			options := b.options
			options.Report, options.Timeout = nil, 0
			older := b.graph("g", `nodes: [`+configMap("a", "a", "1")+`,
				{id: gate, externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}},
				{id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, dependencies: [gate]}]`)
			newer := b.graph("g", `nodes: [`+configMap("a", "a", "2")+`]`)
			done := make(chan error, 1)
			go func() {
				result, err := slow.Apply(t.Context(), older, options)
				if err == nil {
					err = fmt.Errorf("phase %s", result.Phase)
				}
				done <- err
			}()
			b.eventually("the first run's object", func(context.Context) bool { return b.exists("v1", "ConfigMap", "a") })
			b.options.ForceConflicts = true
			b.complete(newer)
			jumped.Store(int64(test.later))
			b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}`)
			if err := <-done; !errors.Is(err, applier.ErrSuperseded) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v; want superseded", err)
			}
			if test.later > 0 {
				b.wantExists("v1", "ConfigMap", false, "b")
			}
			b.complete(newer)
			b.wantExists("v1", "ConfigMap", false, "b")
			b.wantValue("v1", "ConfigMap", "a", "data.a", "2")
			b.wantOwned("g", "ConfigMap a")
		})
	}
}
