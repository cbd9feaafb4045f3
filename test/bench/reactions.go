package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// every is how often something happens that is to be reacted to.
const every = 200 * time.Millisecond

// lateBy is how long the Pods of a late Deployment take to be ready.
const lateBy = "2s"

// readiness measures the time from when a Deployment is seen to be available,
// the last of its graph, until its graph is seen to be ready.
func (s *standing) readiness(ctx context.Context) error {
	namespace, err := s.tenant(ctx, "late")
	if err != nil {
		return err
	}
	var graphs []object
	for i := range s.samples {
		name := fmt.Sprintf("late-%d", i)
		objects := appObjects(namespace, name)
		for _, o := range objects {
			if o.kind == deployments {
				if err := unstructured.SetNestedStringMap(o.body, map[string]string{"testcluster.pequod.io/ready-after": lateBy},
					"spec", "template", "metadata", "annotations"); err != nil {
					return err
				}
			}
		}
		g, err := newGraph(namespace, name, appNodes(objects))
		if err != nil {
			return err
		}
		graphs = append(graphs, g)
	}
	f, err := newFloor(s.config, [][]object{graphs, {newObject(deployments, namespace, "", map[string]any{})}}, namespace)
	if err != nil {
		return err
	}
	caused := func(e sight) bool { return e.kind == deployments && e.Object.available() }
	answered := func(e sight) bool { return e.kind == resourceGraphs && e.Object.available() }
	reactions, err := f.react(ctx, caused, answered, len(graphs), func(i int) error {
		c := f.levels[0][i]
		return f.send(ctx, http.MethodPatch, c.path+"?fieldManager=bench", c.body)
	})
	if err != nil {
		return err
	}
	s.figure(s.label("an object is ready → its graph says so"), spread(reactions), "")
	return nil
}

// drift measures the time from when an object is seen to be changed by somebody
// else until it is seen to be corrected.
func (s *standing) drift(ctx context.Context) error {
	f, err := newFloor(s.config, [][]object{{newObject(configMaps, s.namespace, "", map[string]any{})}}, s.namespace)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	caused := func(e sight) bool {
		if e.Object.Data["mode"] == wanted {
			return false
		}
		changed[e.Object.Metadata.Name] = true
		return true
	}
	answered := func(e sight) bool { return changed[e.Object.Metadata.Name] && e.Object.Data["mode"] == wanted }
	samples := min(s.samples, s.graphs)
	reactions, err := f.react(ctx, caused, answered, samples, func(i int) error {
		name := fmt.Sprintf("app-%d", i*s.graphs/samples)
		body, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"mode": "other"},
		})
		if err != nil {
			return err
		}
		return f.send(ctx, http.MethodPatch, f.kinds[configMaps]+"/"+name+"?fieldManager=somebody&force=true", body)
	})
	if err != nil {
		return err
	}
	s.figure(s.label("somebody changes an object → it is corrected"), spread(reactions), "p50 < 100 ms, p99 < 200")
	return nil
}

// react does something again and again, watching, and gives the times from what
// it causes to what answers that, which are told by the object's name.
func (f *floor) react(ctx context.Context, caused, answered func(sight) bool, times int, do func(int) error) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sights := make(chan sight, 256)
	for k := range f.kinds {
		if err := f.watch(ctx, k, sights); err != nil {
			return nil, err
		}
	}
	go func() {
		for i := range times {
			if err := pause(ctx, every); err != nil {
				return
			}
			if err := do(i); err != nil {
				cancel(err)
				return
			}
		}
	}()
	causes, answers := map[string]time.Time{}, map[string]time.Time{}
	for len(answers) < times || len(causes) < times {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case s := <-sights:
			name := s.Object.Metadata.Name
			if causes[name].IsZero() && caused(s) {
				causes[name] = s.at
			} else if answers[name].IsZero() && answered(s) {
				answers[name] = s.at
			}
		}
	}
	var reactions []time.Duration
	for name, at := range answers {
		reactions = append(reactions, at.Sub(causes[name]))
	}
	slices.Sort(reactions)
	return reactions, nil
}

// spread is how sorted times are spread.
func spread(sorted []time.Duration) string {
	at := func(percent int) int64 { return sorted[(len(sorted)-1)*percent/100].Milliseconds() }
	return fmt.Sprintf("p50 %d ms, p99 %d, most %d (of %d)", at(50), at(99), at(100), len(sorted))
}
