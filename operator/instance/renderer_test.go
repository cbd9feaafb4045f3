package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/render"
)

// local renders in this process.
type local struct {
	mu        sync.Mutex
	platforms map[string]*render.Platform // by digest of the entry
	renders   map[string]int              // by instance
	// fail is returned instead of a rendering if it gives problems or an error.
	fail func(*unstructured.Unstructured) (problem.List, error)
}

// Render implements [instance.Renderer].
func (l *local) Render(_ context.Context, e *catalog.Entry, in *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error) {
	l.mu.Lock()
	l.renders[in.GetName()]++
	fail, platform := l.fail, l.platforms[e.Digest]
	l.mu.Unlock()
	if fail != nil {
		if ps, err := fail(in); len(ps) > 0 || err != nil {
			return nil, ps, err
		}
	}
	return renderLocally(platform, in.Object)
}

// set makes renderings fail, or not if fail is nil.
func (l *local) set(fail func(*unstructured.Unstructured) (problem.List, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

func (l *local) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renders[name]
}

// renderLocally renders an object as pequod render does.
func renderLocally(p *render.Platform, object map[string]any) (*v1alpha1.ResourceGraph, problem.List, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	for in, ps := range render.Instances("instance", raw) {
		if in == nil || ps.Failed() {
			return nil, ps, nil
		}
		if ps = append(ps, in.SetNamespaces(p, "default")...); ps.Failed() {
			return nil, ps, nil
		}
		r := render.Renderer{}
		result := r.Render(in, p)
		return result.Graph, append(ps, result.Problems...), nil
	}
	return nil, nil, errors.New("no instance")
}

// load loads a module as a platform of the Transform "app".
func load(t testing.TB, text string, spec v1alpha1.TransformSpec) *render.Platform {
	t.Helper()
	m, err := render.Load(render.Source{FS: fstest.MapFS{"app.cue": {Data: []byte(text)}}, Dir: ".", Ref: "app"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := render.NewPlatform("app", spec, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
