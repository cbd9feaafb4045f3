package controller

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/cluster"
)

// The writes that show progress are limited together, and yield to graphs that are
// completed.
func TestProgressYields(t *testing.T) {
	p, now := newProgress(), time.Now()
	if !p.allows(now) {
		t.Error("the first write isn't allowed")
	}
	p.completed.Store(&now)
	if p.allows(now.Add(firstWriteAfter - 1)) {
		t.Error("a write is allowed although a graph was completed a moment ago")
	}
	later := now.Add(firstWriteAfter)
	allowed := 0
	for range 100 {
		if p.allows(later) {
			allowed++
		}
	}
	if allowed < 1 || allowed > progressAtOnce {
		t.Errorf("%d writes are allowed at once", allowed)
	}
}

// Causes aren't looked up for a while after the begin of a run if other graphs are
// completed: its objects are probably slow only.
func TestExplainYields(t *testing.T) {
	c := offline(t)
	client, err := cluster.New(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "uid": "1"}}}
	explain := func(began time.Time) error {
		_, err := newExecutor(&c.services, client, &handOvers{}, began).Explain(t.Context(), object)
		return err
	}
	now := time.Now()
	if err := explain(now); errors.Is(err, errCrowded) {
		t.Error("nothing is looked up although no graph is completed")
	}
	c.now = func() time.Time { return now }
	c.progress.completed.Store(&now)
	if err := explain(now.Add(-yieldFor + 1)); !errors.Is(err, errCrowded) {
		t.Errorf("looked up while another graph is completed: %v", err)
	}
	if err := explain(now.Add(-yieldFor)); errors.Is(err, errCrowded) {
		t.Error("a graph that takes long isn't looked up while others are completed")
	}
}
