package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/server"
)

// trial is one peer in one round.
type trial struct {
	*bench
	round     int
	namespace string
	dir       string
	proxy     *faults.Proxy // nil in rounds that measure times
	peer      peer
	results   *results
}

// file returns a path in the directory of the trial.
func (t *trial) file(name string) string { return filepath.Join(t.dir, name) }

// kubeconfig writes a kubeconfig with the access of config, through the proxy if there is one.
func (t *trial) kubeconfig(config *rest.Config) (string, error) {
	if t.proxy != nil {
		config = t.proxy.Config(config)
	}
	return t.file("kubeconfig"), server.WriteKubeconfig(t.file("kubeconfig"), config, t.namespace)
}

// try runs all steps of one peer. Round 0 counts requests, the others measure time, CPU and memory.
func (b *bench) try(ctx context.Context, p peer, r *results, round int) (err error) {
	t := &trial{bench: b, round: round, namespace: fmt.Sprintf("%s-%d", p.file(), round), peer: p, results: r}
	t.dir = filepath.Join(b.scratch, t.namespace)
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return err
	}
	if round == 0 {
		if t.proxy, err = faults.Start(b.admin, 1); err != nil {
			return err
		}
		defer t.proxy.Close()
	}
	// The service account pequod is the one that graphs are executed as.
	if err := b.create(ctx, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod, namespace: %[1]s}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: pequod, namespace: %[1]s}]
`, t.namespace)); err != nil {
		return err
	}
	c, err := p.begin(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	began := time.Now()
	if err := t.steps(ctx, c); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "round %d: %s: %.1f s\n", round, p.name, time.Since(began).Seconds())
	return b.administer(ctx, "", "delete", "namespace", t.namespace, "--wait=false")
}

// steps runs the steps of the comparison.
func (t *trial) steps(ctx context.Context, c contestant) error {
	first, changed := workload(t.namespace, t.objects, "info"), workload(t.namespace, t.objects, "debug")
	fewer := without(changed)
	for i, objects := range [][]object{first, first, changed, fewer} {
		if stepNames[i] == "remove one" && t.peer.grace && t.proxy == nil {
			continue
		}
		err := t.step(ctx, c, stepNames[i], func(ctx context.Context) error {
			if err := c.apply(ctx, objects); err != nil {
				return err
			}
			return t.settled(ctx, objects)
		})
		if err != nil {
			return err
		}
	}
	if d, ok := c.(interface{ drifts() }); ok && t.proxy != nil {
		d.drifts()
		if err := t.rested(ctx, c); err != nil {
			return err
		}
		if err := t.drift(ctx); err != nil {
			return err
		}
	}
	err := t.step(ctx, c, "delete", func(ctx context.Context) error {
		if err := c.remove(ctx); err != nil {
			return err
		}
		return t.gone(ctx, changed)
	})
	if err != nil {
		return err
	}
	left, _, err := t.observed(ctx, t.namespace)
	t.results.left = len(left)
	return err
}

// step measures one step. A step that the peer has no request for is left out.
func (t *trial) step(ctx context.Context, c contestant, name string, do func(context.Context) error) error {
	before := c.usage()
	if t.proxy != nil {
		t.proxy.Reset()
	}
	began := time.Now()
	err := do(ctx)
	wall := time.Since(began)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after := c.usage()
	if t.proxy != nil {
		t.results.requests[stepOf(name)] = t.requests()
		if name != "remove one" || !t.peer.grace {
			return nil
		}
	}
	t.results.samples[stepOf(name)] = append(t.results.samples[stepOf(name)], sample{t.round, wall, after.cpu - before.cpu})
	t.results.peakMiB = append(t.results.peakMiB, after.peakMiB)
	return nil
}

// requests counts the requests since the last reset. Renewals of Leases are left out: their number
// depends on the time only.
func (t *trial) requests() int {
	return t.proxy.Count(func(r faults.Request) bool { return r.Resource != "leases.coordination.k8s.io" })
}

// settled waits until exactly the objects exist and are ready, beside records of the peer. Usually
// that is so when the peer reports it.
func (t *trial) settled(ctx context.Context, objects []object) error {
	want := keysOf(objects)
	return poll(ctx, func() (bool, error) {
		names, unready, err := t.observed(ctx, t.namespace)
		if err != nil || unready > 0 {
			return false, err
		}
		removed := keysOf(workload(t.namespace, t.bench.objects, ""))
		for name := range removed {
			if want[name] && !names[name] || !want[name] && names[name] && !t.peer.keeps {
				return false, nil
			}
		}
		return true, nil
	})
}

// gone waits until none of the objects exists. A peer that keeps objects may leave the spare one.
func (t *trial) gone(ctx context.Context, objects []object) error {
	if t.peer.keeps {
		objects = without(objects)
	}
	return poll(ctx, func() (bool, error) {
		names, _, err := t.observed(ctx, t.namespace)
		for name := range keysOf(objects) {
			if names[name] {
				return false, err
			}
		}
		return err == nil, err
	})
}

// keysOf returns the keys that observed has for objects.
func keysOf(objects []object) map[string]bool {
	plural := map[string]string{"ConfigMap": configMaps.Resource, "Service": services.Resource, "Deployment": deployments.Resource}
	keys := map[string]bool{}
	for _, o := range objects {
		keys[plural[o["kind"].(string)]+"/"+nameOf(o)] = true
	}
	return keys
}

// rested observes a controller that has nothing to do.
func (t *trial) rested(ctx context.Context, c contestant) error {
	if err := pause(ctx, 5*time.Second); err != nil { // what follows the last step isn't rest
		return err
	}
	t.proxy.Reset()
	before := c.usage().cpu
	if err := pause(ctx, t.rest); err != nil {
		return err
	}
	t.results.rest = &atRest{requests: t.requests(), cpu: c.usage().cpu - before}
	return nil
}

// driftLimit is how long a controller may take to correct a change.
const driftLimit = 90 * time.Second

// drift changes a ConfigMap as another client, and measures how long it takes until the change is
// undone.
func (t *trial) drift(ctx context.Context) error {
	client := t.client.Resource(configMaps).Namespace(t.namespace)
	_, err := client.Patch(ctx, "config-0", types.MergePatchType, []byte(`{"data":{"LOG_LEVEL":"drifted"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		return err
	}
	began := time.Now()
	t.results.drift = "not within " + driftLimit.String()
	return poll(ctx, func() (bool, error) {
		o, err := client.Get(ctx, "config-0", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if value, _, _ := unstructured.NestedString(o.Object, "data", "LOG_LEVEL"); value == "debug" {
			t.results.drift = fmt.Sprintf("%.1f s", time.Since(began).Seconds())
			return true, nil
		}
		return time.Since(began) > driftLimit, nil
	})
}

// pause waits for a duration, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
