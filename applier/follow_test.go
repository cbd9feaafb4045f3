package applier_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const followedGraph = `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
- id: gate
  externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}
- id: late
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}}
  dependencies: [config, gate]
`

// follow returns the states that Follow reports.
func follow(t *testing.T, ctx context.Context, a *applier.Applier, rg *v1alpha1.ResourceGraph) (<-chan *applier.State, <-chan error) {
	states, ended := make(chan *applier.State), make(chan error, 1)
	go func() {
		defer close(states)
		ended <- a.Follow(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, rg, func(s *applier.State, err error) bool {
			if err != nil {
				t.Error(err)
			}
			select {
			case states <- s:
			case <-ctx.Done():
			}
			return true
		})
	}()
	return states, ended
}

// until waits for the wanted state.
func until(t *testing.T, states <-chan *applier.State, want ...string) {
	t.Helper()
	patience := time.After(time.Minute)
	var last []string
	for {
		select {
		case s := <-states:
			if last = stateLines(t, s, nil); slices.Equal(last, want) {
				return
			}
		case <-patience:
			t.Fatalf("never so (-want +last):\n%s", cmp.Diff(want, last))
		}
	}
}

// Follow observes the run of another process: by watches of kinds that the graph
// defines, of an external object, and of the inventory.
func TestFollow(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	rg := parse(t, c, "web", followedGraph)
	ctx, stop := context.WithCancel(t.Context())
	states, ended := follow(t, ctx, a, rg)
	until(t, states, "not ready by given", "config: Pending; isn't applied", "gate: Waiting; ConfigMap "+c.Namespace+"/gate doesn't exist",
		"late: Blocked; waits for config")

	run := make(chan error, 1)
	go func() {
		_, err := newApplier(t, c).Apply(t.Context(), rg, applier.Options{Timeout: time.Minute, Wait: true})
		run <- err
	}()
	until(t, states, "not ready by given", "config: Ready", "gate: Waiting; ConfigMap "+c.Namespace+"/gate doesn't exist",
		"late: Blocked; waits for gate")
	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}")
	until(t, states, "ready by given", "config: Ready", "gate: Ready", "late: Ready")
	if err := <-run; err != nil {
		t.Fatal(err)
	}

	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "late", types.MergePatchType,
		[]byte(`{"metadata": {"labels": null}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	until(t, states, "not ready by given", "config: Ready", "gate: Ready", "late: Pending; was changed by others since it was applied")
	stop()
	for range states {
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// Follow observes a graph by its name: the inventory lists its objects, and its
// removal ends Follow.
func TestFollowRecord(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	never := func(*applier.State, error) bool { t.Error("told of nothing"); return false }
	if err := a.Follow(t.Context(), owner, nil, never); !errors.Is(err, applier.ErrNoGraph) {
		t.Errorf("a graph that there isn't: %v", err)
	}
	applied(t, a, parse(t, c, "web", followedGraph[:strings.Index(followedGraph, "- id: gate")]))
	deleted := false
	err := a.Follow(t.Context(), owner, nil, func(s *applier.State, err error) bool {
		if err != nil {
			t.Error(err)
			return false
		}
		if !deleted && s.Ready {
			deleted = true
			if _, err := a.Delete(t.Context(), owner, applier.Options{Timeout: time.Minute, Wait: true}); err != nil {
				t.Error(err)
				return false
			}
		}
		return true
	})
	if !deleted || !errors.Is(err, applier.ErrNoGraph) {
		t.Errorf("deleted %t, ended by %v", deleted, err)
	}
	// Follow ends when report returns false.
	applied(t, a, parse(t, c, "web", followedGraph[:strings.Index(followedGraph, "- id: gate")]))
	told := 0
	if err := a.Follow(t.Context(), owner, nil, func(*applier.State, error) bool { told++; return false }); err != nil || told != 1 {
		t.Errorf("told %d times, ended by %v", told, err)
	}
}

// Follow names drift with one dry run for each change of the managers of an object, however
// often it observes the graph, and also if the dry run is refused.
func TestFollowComparesOnce(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	rg := parse(t, c, "web", followedGraph[:strings.Index(followedGraph, "- id: gate")])
	applied(t, newApplier(t, c), rg)
	patch := func(manager, patch string) {
		t.Helper()
		if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "web", types.MergePatchType,
			[]byte(patch), metav1.PatchOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
	}
	patch("kubectl-edit", `{"data": {"a": "other"}}`)
	proxy := c.Proxy(t, 1)
	a := envOn(t, c, proxy.Config(c.Config)).applier
	a.NameDrift = true
	ctx, stop := context.WithCancel(t.Context())
	states, ended := follow(t, ctx, a, rg)
	// next reads states until one names the manager, which may be "", and then some more.
	next := func(manager string, dryRuns int) {
		t.Helper()
		for more, end := 0, time.Now().Add(time.Minute); more < 3; {
			if time.Now().After(end) {
				t.Fatalf("no state names %q", manager)
			}
			n := (<-states).Nodes[0]
			got := ""
			for _, c := range n.Taken {
				got += c.Field + " by " + c.Manager
			}
			if n.Message != "was changed by others since it was applied" {
				t.Fatalf("%s; %s", n.Phase, n.Message)
			}
			if got == manager {
				more++
			}
		}
		if n := proxy.Count(func(r faults.Request) bool { return r.Verb == "apply" && r.DryRun }); n != dryRuns {
			t.Errorf("%q: %d dry runs, want %d", manager, n, dryRuns)
		}
	}
	next("data.a by kubectl-edit", 1)
	patch("kubectl-edit", `{"data": {"a": "third"}}`)
	next("data.a by kubectl-edit", 1)
	patch("helm", `{"data": {"a": "fourth"}}`)
	next("data.a by helm", 2)
	proxy.Inject(faults.Rule{Verbs: []string{"apply"}, Faults: []faults.Fault{faults.Status{Code: 403}}})
	patch("kubectl-edit", `{"data": {"a": "fifth"}}`)
	next("", 3)
	stop()
	for range states {
	}
	<-ended
}
