package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/jsonschema"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
)

// TestReviewSchema checks that the published schema describes every field of the reports, and
// that the reports satisfy it.
func TestReviewSchema(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "schemas", "review-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	// Readers must accept new fields. The program must not have one that isn't described.
	data = bytes.ReplaceAll(data, []byte(`"additionalProperties": true`), []byte(`"additionalProperties": false`))
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
	valid := func(name string, data []byte) error {
		expr, err := json.Extract(name, data)
		if err != nil {
			return err
		}
		return schema.Unify(ctx.BuildExpr(expr)).Validate(cue.Concrete(true))
	}
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
