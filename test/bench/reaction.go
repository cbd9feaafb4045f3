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

// durations are measured durations, the shortest first.
type durations []time.Duration

// String returns the quantiles of the durations, of which there must be at least one.
func (d durations) String() string {
	quantile := func(percent int) time.Duration { return d[(len(d)-1)*percent/100].Round(100 * time.Microsecond) }
	return fmt.Sprintf("p50 %s, p99 %s, max %s of %d", quantile(50), quantile(99), quantile(100), len(d))
}

// reportReaction adds the figure of the reaction to changes of the objects of a job.
func (m *measurement) reportReaction(ctx context.Context, j job) error {
	took, err := m.measureReaction(ctx, j)
	if err != nil {
		return err
	}
	m.report.addFigure(figure{fmt.Sprintf("%d graphs: drift corrected", j.Graphs), took.String(), ""})
	return nil
}

// measureReaction changes the ConfigMaps of graphs, one after the other and evenly over all graphs of
// a job, and measures how long it takes from the response to the change until the applier has
// corrected it.
func (m *measurement) measureReaction(ctx context.Context, j job) (durations, error) {
	all := m.client.CoreV1().ConfigMaps(metav1.NamespaceAll)
	list, err := all.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	watched, err := all.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	defer watched.Stop()
	var took durations
	for i := range min(j.Graphs, reactions) {
		index := i * j.Graphs / min(j.Graphs, reactions)
		changed, err := m.client.CoreV1().ConfigMaps(j.namespaceOf(index)).Patch(ctx, j.nameOf(index), types.MergePatchType,
			[]byte(`{"data": {"mode": "changed"}}`), metav1.PatchOptions{FieldManager: "bench"})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := waitUntilCorrected(ctx, watched, changed); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took, nil
}

// waitUntilCorrected waits for the event after a version in which a ConfigMap is as its graph wants it.
func waitUntilCorrected(ctx context.Context, watched watch.Interface, changed *corev1.ConfigMap) error {
	for seen := false; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-watched.ResultChan():
			config, ok := event.Object.(*corev1.ConfigMap)
			if !open || !ok {
				return fmt.Errorf("the watch of ConfigMaps ended: %v", event.Object)
			}
			if config.Name != changed.Name || config.Namespace != changed.Namespace {
				continue
			}
			seen = seen || config.ResourceVersion == changed.ResourceVersion
			if seen && config.Data["mode"] == "wanted" {
				return nil
			}
		}
	}
}
