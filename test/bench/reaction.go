package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// reactions is how many objects are changed, each of another graph.
const reactions = 200

// measureReaction changes the ConfigMaps of graphs, one after the other and evenly over all n graphs,
// and measures how long it takes from the response to the change until the applier has corrected it.
func (m *measurement) measureReaction(ctx context.Context, namespace string, n int) error {
	configs := m.client.CoreV1().ConfigMaps(namespace)
	list, err := configs.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	watched, err := configs.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer watched.Stop()
	var took []time.Duration
	for i := range min(n, reactions) {
		name := fmt.Sprintf("app-%d", i*n/min(n, reactions))
		changed, err := configs.Patch(ctx, name, types.MergePatchType, []byte(`{"data": {"mode": "changed"}}`), metav1.PatchOptions{FieldManager: "bench"})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := waitUntilCorrected(ctx, watched, name, changed.ResourceVersion); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	quantile := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(100 * time.Microsecond) }
	m.report.addFigure(figure{fmt.Sprintf("%d graphs: drift corrected", n),
		fmt.Sprintf("p50 %s, p99 %s, max %s of %d", quantile(50), quantile(99), quantile(100), len(took)), ""})
	return nil
}

// waitUntilCorrected waits for the event after a version in which a ConfigMap is as its graph wants it.
func waitUntilCorrected(ctx context.Context, watched watch.Interface, name, version string) error {
	for seen := false; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-watched.ResultChan():
			config, ok := event.Object.(*corev1.ConfigMap)
			if !open || !ok {
				return fmt.Errorf("the watch of ConfigMaps ended: %v", event.Object)
			}
			if config.Name != name {
				continue
			}
			seen = seen || config.ResourceVersion == version
			if seen && config.Data["mode"] == "wanted" {
				return nil
			}
		}
	}
}
