package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func TestOrder(t *testing.T) {
	w := newWorld(t, 8, nil)
	for i, tier := range []string{"prod", "10", "9", "dev", "", "test", "x", "-1"} {
		if tier != "" {
			w.instances[i].Labels = map[string]string{"tier": tier}
		}
	}
	order := func(keys ...v1alpha1.RolloutOrder) string {
		var list []*Instance
		for i := range w.instances {
			list = append(list, &w.instances[len(w.instances)-1-i])
		}
		var names []string
		for _, in := range sorted(list, keys, "new") {
			names = append(names, in.Name[3:])
		}
		return strings.Join(names, "")
	}
	if got := order(); got != "01234567" {
		t.Errorf("by default: %s", got)
	}
	if got := order(v1alpha1.RolloutOrder{By: v1alpha1.OrderByLabel, Key: "tier", Values: []string{"dev", "prod"}}); got != "30721564" {
		t.Errorf("by label: %s", got)
	}
	if got := order(v1alpha1.RolloutOrder{By: v1alpha1.OrderByAnnotation, Key: "tier"}); got != "01234567" {
		t.Errorf("by an annotation that none has: %s", got)
	}
	random := v1alpha1.RolloutOrder{By: v1alpha1.OrderByRandom}
	if a, b := order(random), order(random); a != b || a == "01234567" {
		t.Errorf("random: %s, %s", a, b)
	}
}

func TestPlan(t *testing.T) {
	w := newWorld(t, 10, &v1alpha1.Rollout{Batches: sizes(1, 2, "50%")})
	w.instances[6].Change, w.instances[8].Change, w.instances[0].Change = "size", "size", ""
	w.instances[1].Annotations = map[string]string{v1alpha1.AnnotationPinnedVersion: "v1"}
	var got []string
	for _, b := range Plan(w.settings, w.to, w.instances) {
		line := fmt.Sprintf("%d:", b.Number)
		for _, in := range b.Canaries {
			line += " " + in.Name + "!"
		}
		for _, in := range b.Instances {
			line += " " + in.Name
		}
		got = append(got, line)
	}
	// Batch 2 has no instances that aren't canaries of batch 1.
	want := []string{"1: i002! i006!", "3: i003 i004", "4: i005 i007 i008 i009"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
