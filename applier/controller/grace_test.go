package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// leaves returns a check that an object left a ready graph and waits for its grace
// period to end. It stores the time of the departure in since.
func leaves(name string, since *time.Time) func(*v1alpha1.ResourceGraph) error {
	return func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.Inventory == nil {
			return errNotYet
		}
		for _, e := range rg.Status.Inventory.Entries {
			if e.Name == name && e.Node == "" && e.LeavingSince != nil {
				*since = e.LeavingSince.Time
				return condition("Ready", "True", "Completed", name+" left the graph, and is removed at ")(rg)
			}
		}
		return fmt.Errorf("%s doesn't leave: %s", name, owned(rg))
	}
}

// An object may leave its graph before another one lists it, and come back.
func TestPruneGrace(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.PruneGrace = time.Hour
	b.start(b.Config)
	graph := func(name string, more ...string) *v1alpha1.ResourceGraph {
		return b.rendered(name, nodes(append(more, configMap("base", name+"-base", "1"))...))
	}
	precious := configMap("precious", "precious", "1")
	b.apply(graph("ga", precious))
	b.ready("ga")
	uid := b.uid("precious")

	var since time.Time
	b.apply(graph("ga"))
	b.until("ga", leaves("precious", &since))
	b.apply(graph("gb", precious))
	b.until("gb", func(rg *v1alpha1.ResourceGraph) error {
		if got, want := owned(rg), "ConfigMap gb-base, ConfigMap precious"; got != want {
			return fmt.Errorf("inventory: %s; want %s", got, want)
		}
		return isReady(rg)
	})
	b.until("ga", func(rg *v1alpha1.ResourceGraph) error {
		if got, want := owned(rg), "ConfigMap ga-base"; got != want {
			return fmt.Errorf("inventory: %s; want %s", got, want)
		}
		return condition("Ready", "True", "Completed", "1 object is ready")(rg)
	})
	if b.uid("precious") != uid {
		t.Fatal("the object was deleted and created again")
	}

	// The time of the departure survives a restart, and is dropped if the object
	// comes back.
	b.apply(graph("gb"))
	b.until("gb", leaves("precious", &since))
	left := since
	b.stop()
	b.start(b.Config)
	b.merge("gb", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
	b.until("gb", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt != "now" {
			return errNotYet
		}
		return leaves("precious", &since)(rg)
	})
	if !since.Equal(left) {
		t.Errorf("the object left at %s, and after a restart at %s", left, since)
	}
	b.apply(graph("gb", precious))
	b.until("gb", func(rg *v1alpha1.ResourceGraph) error {
		for _, e := range rg.Status.Inventory.Entries {
			if e.LeavingSince != nil {
				return fmt.Errorf("%s is still leaving", e.Name)
			}
		}
		return isReady(rg)
	})
	if b.uid("precious") != uid {
		t.Fatal("the object was deleted and created again")
	}

	// The deletion of a graph is explicit, and doesn't wait.
	b.apply(graph("gb"))
	b.until("gb", leaves("precious", &since))
	b.remove("gb")
	b.gone("gb")
	b.wantExists(false, "v1", "ConfigMap", "precious", "gb-base")
}

// An object is pruned when its grace period ends.
func TestPruneGraceEnds(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.PruneGrace = 4 * time.Second
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("web")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	var since time.Time
	b.until("web", leaves("b", &since))
	b.eventually("b is pruned", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "b") })
	if lived := time.Since(since); lived < b.options.PruneGrace {
		t.Errorf("b was pruned %v after it left", lived)
	}
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if got, want := owned(rg), "ConfigMap a"; got != want {
			return fmt.Errorf("inventory: %s; want %s", got, want)
		}
		return condition("Ready", "True", "Completed", "1 object is ready")(rg)
	})
}
