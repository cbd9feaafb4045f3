package transform_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// TestKills changes Transforms while the manager is killed at random moments and its requests
// fail. In the end, each Transform has what it describes, and nothing is left of deleted ones.
func TestKills(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	proxy := b.Proxy(t, seed)
	config := proxy.Config(b.Config)
	config.Timeout = 5 * time.Second // of requests that are not answered
	all := []faults.Fault{
		faults.Status{Code: 500}, faults.Status{Code: 409}, faults.Status{Code: 429}, faults.Drop{}, faults.Cut{}, faults.Cut{After: 20},
	}
	proxy.Inject(
		faults.Rule{Verbs: []string{"create", "patch", "apply", "update", "delete"}, Rate: 0.15, Faults: all},
		faults.Rule{Verbs: []string{"get"}, Resources: []string{"customresourcedefinitions.apiextensions.k8s.io"}, Rate: 0.15, Faults: all},
	)
	b.start(config)
	const transforms, rounds = 4, 25
	fields := map[int]int{} // the number of fields of each Transform, 0 if it doesn't exist
	module := func(n int) string {
		input := "text: string"
		for i := range n {
			input += fmt.Sprintf(", f%d?: int", i)
		}
		return b.appModule(input)
	}
	// On a busy machine, a manager may be killed before it makes a request.
	for round := 0; round < rounds || len(proxy.Faults()) < 4 && round < 20*rounds; round++ {
		i := random.IntN(transforms)
		name, kind := fmt.Sprint("app", i), fmt.Sprint("App", i)
		switch {
		case fields[i] == 0:
			fields[i] = 1
			app := b.transform(name, module(1), func(t *v1alpha1.Transform) { t.Spec.Kind = kind })
			harness.Eventually(t, patience, func(ctx context.Context) error { return b.client.Create(ctx, app.DeepCopy()) })
		case random.IntN(4) == 0:
			fields[i] = 0
			if err := b.client.Delete(t.Context(), b.transform(name, "")); err != nil {
				t.Fatal(err)
			}
		default:
			fields[i]++
			b.edit(name, func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = module(fields[i]) })
		}
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond)
		if random.IntN(2) == 0 {
			b.stop()
			b.start(config)
		}
	}
	injected := proxy.Faults()
	proxy.Inject()
	for i := range transforms {
		name, kind := fmt.Sprint("app", i), fmt.Sprint("App", i)
		crd := fmt.Sprintf("app%ds.%s", i, b.group)
		if fields[i] == 0 {
			b.gone(name)
			b.noRole("", name)
			if live := b.crd(crd); live != nil {
				t.Errorf("%s exists", crd)
			}
			continue
		}
		b.ready(name)
		if got := len(b.crd(crd).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties); got != fields[i]+1 {
			t.Errorf("%s has %d fields, not %d", crd, got, fields[i]+1)
		}
		harness.Eventually(t, patience, func(ctx context.Context) error {
			if b.catalog.Get(schema.GroupKind{Group: b.group, Kind: kind}) == nil {
				return errors.New(kind + " is not listed")
			}
			_, err := b.roleOf(ctx, "", name)
			return err
		})
	}
	if len(injected) < 4 {
		t.Errorf("some faults didn't happen: %v", injected)
	}
}
