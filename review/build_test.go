package review_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/text"
)

// side returns a tree of Deployments by their images. An image "broken" is a unit that can't
// be rendered.
func side(t *testing.T, images map[string]string) review.Tree {
	t.Helper()
	tree := review.Tree{Side: review.Side{Name: "test"}}
	for name, image := range images {
		u := review.Unit{Instance: objectdiff.Instance{Kind: "Deployment", Namespace: "shop", Name: name, File: name + ".yaml"}, APIGroup: "apps", Path: name + ".yaml"}
		if image == "broken" {
			u.Problems = problem.List{{Rule: problem.RuleType, Path: "spec.image", Message: "no image"}}
			tree.Units = append(tree.Units, u)
			continue
		}
		objects, err := objectdiff.FromManifest(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "shop"},
			"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "app", "image": image}}}}},
		}, name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		u.Objects = objects
		tree.Units = append(tree.Units, u)
	}
	return tree
}

func TestNew(t *testing.T) {
	base := side(t, map[string]string{"a": "shop/a:1", "b": "shop/b:1", "c": "c:1", "gone": "g:1", "worse": "w:1", "better": "broken", "same": "s:1"})
	head := side(t, map[string]string{"a": "shop/a:2", "b": "shop/b:2", "c": "c:1", "new": "n:1", "worse": "broken", "better": "b:2", "same": "s:1"})
	r, err := review.New(base, head, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := review.Counts{Added: 1, Changed: 2, Removed: 1, Unchanged: 2, Unknown: 2}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var titles []string
	for _, g := range r.Groups {
		titles = append(titles, g.Title)
	}
	wantTitles := []string{"image a 1 → 2 in 2 instances of Deployment", "Deployment shop/gone is removed", "Deployment shop/new is added"}
	if diff := cmp.Diff(wantTitles, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
	for condition, want := range map[review.Condition]int{review.Removals: 1, review.Restarts: 3, review.Breaking: 1, review.Policy: 0} {
		if got := r.Count(condition); got != want {
			t.Errorf("%s: %d, want %d", condition, got, want)
		}
	}
	var b strings.Builder
	if err := text.Write(&b, r, nil); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "1 to add, 2 to change, 1 to remove · 1 stop · 2 rolling restarts · 2 instances unknown" {
		t.Errorf("first line %q", first)
	}
}

// A side that can't be read at all makes every instance unknown, never added or removed.
func TestFailureMakesUnknown(t *testing.T) {
	base := review.Tree{Failures: []review.Failure{{Subject: "pequod.yaml", Whole: true, Problems: problem.List{{Message: "unknown key"}}}}}
	r, err := review.New(base, side(t, map[string]string{"a": "a:1", "b": "b:1"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts != (review.Counts{Unknown: 2}) || len(r.Instances) != 0 {
		t.Errorf("counts %+v, %d instances", r.Counts, len(r.Instances))
	}
	if got, want := r.Verdict(), "0 to add, 0 to change, 0 to remove · 2 instances unknown"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}
