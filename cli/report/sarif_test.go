package report

import (
	"encoding/json"
	"testing"

	"github.com/pequod-io/pequod/internal/problem"
)

// TestSARIFStructure checks the properties that the SARIF 2.1.0 schema or GitHub's code
// scanning requires, in the JSON and not in the types that are encoded.
func TestSARIFStructure(t *testing.T) {
	for name, problems := range map[string]problem.List{"some": someProblems(), "hostile": hostileProblems(), "none": nil} {
		t.Run(name, func(t *testing.T) {
			var log map[string]any
			if err := json.Unmarshal([]byte(write(t, "sarif", problems, nil, Options{Version: "v1.2.3"})), &log); err != nil {
				t.Fatal(err)
			}
			if log["version"] != "2.1.0" || log["$schema"] == "" {
				t.Errorf("version %v, schema %v", log["version"], log["$schema"])
			}
			run := list(t, log, "runs")[0].(map[string]any)
			driver := run["tool"].(map[string]any)["driver"].(map[string]any)
			if driver["name"] != "pequod" || driver["version"] != "v1.2.3" {
				t.Errorf("driver %v", driver)
			}
			rules := list(t, driver, "rules")
			ids := map[any]bool{}
			for _, r := range rules {
				id := r.(map[string]any)["id"]
				if ids[id] || id == "" {
					t.Errorf("rule id %q is empty or there twice", id)
				}
				ids[id] = true
			}
			results := list(t, run, "results")
			if len(results) != len(sorted(merged(problems))) {
				t.Errorf("%d results for %d problems", len(results), len(sorted(merged(problems))))
			}
			for _, r := range results {
				checkResult(t, r.(map[string]any), rules)
			}
		})
	}
}

func checkResult(t *testing.T, result map[string]any, rules []any) {
	t.Helper()
	index, ok := result["ruleIndex"].(float64)
	if !ok || int(index) >= len(rules) || rules[int(index)].(map[string]any)["id"] != result["ruleId"] {
		t.Errorf("ruleIndex %v doesn't point at rule %v", result["ruleIndex"], result["ruleId"])
	}
	switch result["level"] {
	case "error", "warning", "note":
	default:
		t.Errorf("level %v", result["level"])
	}
	if _, ok := result["message"].(map[string]any)["text"].(string); !ok {
		t.Errorf("message %v has no text", result["message"])
	}
	locations, there := result["locations"]
	if !there {
		return
	}
	for _, l := range locations.([]any) {
		physical := l.(map[string]any)["physicalLocation"].(map[string]any)
		if uri := physical["artifactLocation"].(map[string]any)["uri"]; uri == "" {
			t.Errorf("no uri in %v", physical)
		}
		if line := physical["region"].(map[string]any)["startLine"].(float64); line < 1 {
			t.Errorf("startLine %v", line)
		}
	}
}

func list(t *testing.T, in map[string]any, name string) []any {
	t.Helper()
	l, ok := in[name].([]any)
	if !ok {
		t.Fatalf("%s is %T, want an array", name, in[name])
	}
	return l
}

func TestArtifactURI(t *testing.T) {
	for _, test := range []struct{ file, uri, base string }{
		{"app.yaml", "app.yaml", "%SRCROOT%"},
		{"./apps/a b.yaml", "apps/a%20b.yaml", "%SRCROOT%"},
		{"../app.yaml", "../app.yaml", "%SRCROOT%"},
		{"50%#?.yaml", "50%25%23%3F.yaml", "%SRCROOT%"},
		{"a:b.yaml", "./a:b.yaml", "%SRCROOT%"},
		{"-", "-", "%SRCROOT%"},
		{"bad\xff.yaml", "bad%FF.yaml", "%SRCROOT%"},
		{"/abs/é.yaml", "file:///abs/%C3%A9.yaml", ""},
		{"C:/teams/app.yaml", "file:///C:/teams/app.yaml", ""},
	} {
		got := artifact(test.file)
		if got.URI != test.uri || got.URIBaseID != test.base {
			t.Errorf("artifact(%q) = %+v, want %s %s", test.file, got, test.uri, test.base)
		}
	}
}
