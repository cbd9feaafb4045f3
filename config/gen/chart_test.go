package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChart checks that the generated templates of the chart are those of the kustomizations.
func TestChart(t *testing.T) {
	templates, err := chart("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range templates {
		got, err := os.ReadFile(filepath.Join("..", "chart", "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("config/chart/templates/%s isn't what the kustomizations come to; run make manifests (-want +got):\n%s", name, diff)
		}
	}
}

// TestMerge checks that the lines of each variant are those whose conditions hold, whatever
// the variants have in common.
func TestMerge(t *testing.T) {
	variants := map[string][]string{
		"":        {"a", "b", "c", "b", "d"},
		"longer":  {"x", "a", "b", "c", "b", "y", "d", "z"},
		"shorter": {"a", "b", "d"},
		"other":   {"c", "b", "e"},
		"none":    nil,
	}
	lines := merge(nil, "", "", "", variants[""])
	for i := range lines {
		lines[i].when = nil // the text itself
	}
	for _, name := range []string{"longer", "shorter", "other", "none"} {
		lines = merge(lines, "", name, name, variants[name])
	}
	// A change of a change.
	variants["longest"] = []string{"w", "x", "a", "b", "b", "y", "d"}
	lines = merge(lines, "longer", "longest", "longest", variants["longest"])
	for name, want := range variants {
		set := []string{name}
		if name == "longest" {
			set = []string{"longer", "longest"}
		}
		var got []string
		for _, l := range lines {
			if !slices.ContainsFunc(l.when, func(condition string) bool {
				is, negated := strings.CutPrefix(strings.TrimSuffix(condition, ")"), "(not ")
				return slices.Contains(set, is) == negated
			}) {
				got = append(got, l.text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
