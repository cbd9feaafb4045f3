package forecast

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// deployment returns a live Deployment.
func deployment(strategy string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"replicas": int64(4), "strategy": map[string]any{"type": strategy}},
	}}
}

// The API server decides what is refused: without a dry run, the change of the strategy is
// a refusal that depends on defaults which the manifest doesn't show.
func TestOfLive(t *testing.T) {
	key := objectdiff.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, test := range []struct {
		name string
		edit func(*objectdiff.Live)
		want Effect
	}{
		{"accepted", func(*objectdiff.Live) {}, InPlace},
		{"refused", func(l *objectdiff.Live) { l.Refusal = "rollingUpdate: Forbidden" }, Refused},
		{"unchecked", func(l *objectdiff.Live) {
			l.Warnings = problem.List{{Severity: problem.Warning, Rule: objectdiff.RuleUnchecked}}
		}, Refused},
		{"recreated", func(l *objectdiff.Live) { l.Recreated = true }, Recreate},
	} {
		t.Run(test.name, func(t *testing.T) {
			live := objectdiff.Live{Before: deployment("RollingUpdate"), After: deployment("Recreate")}
			test.edit(&live)
			d, err := objectdiff.CompareLive([]objectdiff.Live{live})
			if err != nil {
				t.Fatal(err)
			}
			before, after, err := objectdiff.LiveSides([]objectdiff.Live{live})
			if err != nil {
				t.Fatal(err)
			}
			var got []Effect
			for _, c := range OfLive(d, before, after, nil)[key] {
				got = append(got, c.Effect)
			}
			if diff := cmp.Diff([]Effect{test.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A Deployment of four Pods with a live autoscaler restarts four, and not the minimum.
func TestLiveReplicas(t *testing.T) {
	web := deployment("RollingUpdate")
	changed := web.DeepCopy()
	changed.Object["spec"].(map[string]any)["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}
	scaler := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"minReplicas": int64(2), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
	}}
	all := []objectdiff.Live{{Before: web, After: changed}, {Before: scaler, After: scaler}}
	d, err := objectdiff.CompareLive(all)
	if err != nil {
		t.Fatal(err)
	}
	before, after, err := objectdiff.LiveSides(all)
	if err != nil {
		t.Fatal(err)
	}
	for key, found := range OfLive(d, before, after, nil) {
		if len(found) != 1 || found[0].Effect != RollingRestart || found[0].Pods != 4 {
			t.Errorf("%s: %+v", key, found)
		}
	}
}

// A new autoscaler fights nobody if the graph has left spec.replicas to others, although the
// live object has the field.
func TestLiveHandover(t *testing.T) {
	for owner, want := range map[string]int{"pequod": 1, "pequod-replicas": 0} {
		web := deployment("RollingUpdate")
		web.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:replicas": {}}}`),
		}})
		scaler := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"spec": map[string]any{"minReplicas": int64(2), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
		}}
		all := []objectdiff.Live{{Before: web, After: web, Manager: "pequod"}, {After: scaler, Manager: "pequod"}}
		d, err := objectdiff.CompareLive(all)
		if err != nil {
			t.Fatal(err)
		}
		before, after, err := objectdiff.LiveSides(all)
		if err != nil {
			t.Fatal(err)
		}
		fights := 0
		for _, found := range OfLive(d, before, after, nil) {
			for _, c := range found {
				if c.Effect == Autoscaler {
					fights++
				}
			}
		}
		if fights != want {
			t.Errorf("%s owns spec.replicas: %d fights, want %d", owner, fights, want)
		}
	}
}

// Warnings tell each effect once.
func TestWarn(t *testing.T) {
	live := objectdiff.Live{Before: deployment("RollingUpdate"), After: deployment("RollingUpdate")}
	live.After.Object["spec"].(map[string]any)["replicas"] = int64(0)
	live.After.Object["spec"].(map[string]any)["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}
	d, err := objectdiff.CompareLive([]objectdiff.Live{live})
	if err != nil {
		t.Fatal(err)
	}
	key := d.Objects[0].Key
	Warn(&d, map[objectdiff.Key][]Consequence{key: {
		{Effect: Stopped, Path: "spec.replicas", Reason: "nothing runs any more"},
		{Effect: Unnoticed, Path: "data", Pods: 2, Reason: "Pods read it only when they start"},
		{Effect: InPlace},
	}})
	var got []string
	for _, w := range d.Objects[0].Warnings {
		got = append(got, w.Rule+": "+w.Message)
	}
	want := []string{"scale: nothing runs any more", "unnoticed: not noticed by 2 Pods: Pods read it only when they start"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
