package instance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// Statuses of instances that wait for their objects are written slowly if there are many: such
// writes would make the others wait. In the end, all are written.
func TestProgress(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	const instances = 60
	began := time.Now()
	for i := range instances {
		b.apply(fmt.Sprint("web-", i), "{text: one, wants: two}")
	}
	status := b.entry.Names.Plural + "." + b.entry.Names.Group + "/status"
	written := func() map[string]bool {
		names := map[string]bool{}
		for _, r := range proxy.Requests() {
			if r.Resource == status {
				names[r.Name] = true
			}
		}
		return names
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if n := len(written()); n < 10 {
			return fmt.Errorf("%d statuses are written", n)
		}
		return nil
	})
	time.Sleep(2 * time.Second) // the others want to be written by now
	n, took := len(written()), time.Since(began)
	if most := 12 + 2*int(took.Seconds()); n > most && took < 20*time.Second {
		t.Errorf("%d statuses are written after %s; want %d at most", n, took, most)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if n := len(written()); n < instances {
			return fmt.Errorf("%d statuses are written", n)
		}
		return nil
	})
	if n := proxy.Count(func(r faults.Request) bool { return r.Resource == status }); n > 3*instances {
		t.Errorf("%d writes of %d statuses", n, instances)
	}
}
