package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
)

// reviewSchema returns a function that reports why a report doesn't satisfy the published schema.
// Readers must accept new fields; with strict, a field that isn't described is wrong.
func reviewSchema(t *testing.T, strict bool) func(name string, data []byte) error {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", "schemas", "review-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strict {
		data = bytes.ReplaceAll(data, []byte(`"additionalProperties": true`), []byte(`"additionalProperties": false`))
	}
	ctx := cuecontext.New()
	parsed, err := json.Extract("review-v1.json", data)
	if err != nil {
		t.Fatal(err)
	}
	file, err := jsonschema.Extract(ctx.BuildExpr(parsed), &jsonschema.Config{StrictKeywords: true})
	if err != nil {
		t.Fatal(err)
	}
	schema := ctx.BuildFile(file)
	if err := schema.Err(); err != nil {
		t.Fatal(err)
	}
	return func(name string, data []byte) error {
		expr, err := json.Extract(name, data)
		if err != nil {
			return err
		}
		return schema.Unify(ctx.BuildExpr(expr)).Validate(cue.Concrete(true))
	}
}

// TestDiffSchema checks that pequod diff prints reports of the published schema, with the
// fields of its own.
func TestDiffSchema(t *testing.T) {
	valid := reviewSchema(t, false)
	for _, script := range []struct{ file, output, field string }{
		{"diff_formats.txtar", "json.txt", `"objects": [`},
		{"diff_impact.txtar", "json.txt", `"noLongerValid": [`},
	} {
		a, err := txtar.ParseFile(filepath.Join("testdata", "script", script.file))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == script.output })
		if i < 0 {
			t.Fatalf("%s has no %s", script.file, script.output)
		}
		data := a.Files[i].Data
		if err := valid(script.output, data); err != nil {
			t.Errorf("%s: %v", script.file, err)
		}
		if !bytes.Contains(data, []byte("\n  "+script.field)) {
			t.Errorf("%s: no %s", script.file, script.field)
		}
		if valid(script.output, bytes.Replace(data, []byte(`"dangers"`), []byte(`"danger"`), 1)) == nil {
			t.Errorf("%s: accepted without dangers", script.file)
		}
	}
}

// TestFleetSchema checks that the published schema describes every field of a report about several
// clusters.
func TestFleetSchema(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "script", "for_each_review.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "json.txt" })
	if i < 0 {
		t.Fatal("no json.txt")
	}
	if err := reviewSchema(t, true)("json.txt", a.Files[i].Data); err != nil {
		t.Error(err)
	}
	for _, field := range []string{"\n  \"clusters\": [", "\n          \"cluster\": ", "\n      \"cluster\": "} {
		if !bytes.Contains(a.Files[i].Data, []byte(field)) {
			t.Errorf("no %s", field)
		}
	}
}

// TestReviewSchema checks that the published schema describes every field of the reports, and
// that the reports satisfy it.
func TestReviewSchema(t *testing.T) {
	valid := reviewSchema(t, true)
	reports, err := filepath.Glob(filepath.Join("testdata", "reviews", "*.json"))
	if err != nil || len(reports) < 20 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, name := range reports {
		data, err := os.ReadFile(name)
		if err == nil {
			err = valid(name, data)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The schema must refuse something, or it says nothing.
		for _, wrong := range [][2]string{{`"version": "v1"`, `"version": "v2"`}, {`"dangers"`, `"danger"`}, {`"changed": `, `"changed": -1`}} {
			if valid(name, bytes.Replace(data, []byte(wrong[0]), []byte(wrong[1]), 1)) == nil {
				t.Errorf("%s: accepted with %s", name, wrong[1])
			}
		}
	}
	// No change of the fixture has the answers of a cluster.
	objects, err := objectdiff.FromManifest(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}, "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var report review.Report
	report.Refine(review.Live{Context: "context a", Error: "b", Incomplete: true, NotAsked: []string{"c"}, ReadOnly: []string{"d"}},
		review.Answers{Diff: objectdiff.Compare(nil, objects)})
	var live bytes.Buffer
	if err := review.WriteJSON(&live, &report); err != nil {
		t.Fatal(err)
	}
	if err := valid("live", live.Bytes()); err != nil || len(report.Live.Others) != 1 {
		t.Errorf("%v\n%s", err, &live)
	}
	if valid("live", bytes.Replace(live.Bytes(), []byte(`"notAsked"`), []byte(`"unasked"`), 1)) == nil {
		t.Error("the schema doesn't describe the answers of a cluster")
	}
}
