package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const operationsDoc = "docs/operations.md"

// TestReasons checks that the runbook lists every reason of a failure.
func TestReasons(t *testing.T) {
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| reason | what to do |\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table of reasons", operationsDoc)
	}
	var listed []string
	for _, row := range strings.Split(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			listed = append(listed, span[1])
		}
	}
	want := append(constants(t, "applier/engine/failure.go", "Reason"), constants(t, "applier/controller/reasons.go", "reason")...)
	slices.Sort(want)
	slices.Sort(listed)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("reasons (-code +%s):\n%s", operationsDoc, diff)
	}
}

// TestActionReasons checks that the documents of the kinds of pequod-actions list every reason of
// their condition Ready, and the Events of Monitors.
func TestActionReasons(t *testing.T) {
	const waiting = "WaitingForActions" // the default in the CRD
	for _, list := range []struct{ doc, head, file, prefix, more string }{
		{"docs/actions.md", "| condition | reason | what to do |\n", "actions/action/status.go", "reason", waiting},
		{"docs/monitors.md", "| reason of Ready | what to do |\n", "actions/verdict/summary.go", "Reason", waiting},
		{"docs/monitors.md", "| Event | meaning |\n", "actions/monitor/report.go", "event", ""},
		{"docs/receivers.md", "| reason of Ready | what to do |\n", "actions/receiver/status.go", "reason", waiting},
	} {
		text, err := os.ReadFile(list.doc)
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), list.head)
		table, _, _ = strings.Cut(table, "\n\n")
		listed := map[string]bool{}
		for _, row := range strings.Split(table, "\n") {
			cells := row[:max(strings.LastIndex(strings.TrimSuffix(row, "|"), "|"), 0)] // all but what to do
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells, -1) {
				listed[m[1]] = true
			}
		}
		want := map[string]bool{}
		for _, reason := range constants(t, list.file, list.prefix) {
			want[reason] = true
		}
		if list.more != "" {
			want[list.more] = true
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("%s (-code +%s):\n%s", list.file, list.doc, diff)
		}
	}
}

// TestRolloutEvents checks that the document lists every Event about rollouts.
func TestRolloutEvents(t *testing.T) {
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Event of a rollout | meaning |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(constants(t, "operator/rollout/execute/record.go", "event"), listed); diff != "" {
		t.Errorf("Events of rollouts (-code +%s):\n%s", operationsDoc, diff)
	}
}

// constants returns the values of a file's string constants whose names begin
// with prefix.
func constants(t *testing.T, file, prefix string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no constants %s…", file, prefix)
	}
	return values
}

var (
	eventRow    = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (Warning|Normal) \\|")
	eventCall   = regexp.MustCompile(`\.(emitWarning|emitNormal|emitFailure)\((?:"|reason|engine\.Reason)(\w+)`)
	stallReason = regexp.MustCompile(`\breason\w+ += (?:"|engine\.Reason)(\w+)`)
	driftCall   = regexp.MustCompile(`\.(?:emitDrift|emitHandOver)\("(\w+)"`)
)

// TestEvents checks that the document lists every Event with its type.
func TestEvents(t *testing.T) {
	files, err := filepath.Glob("applier/controller/*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range eventCall.FindAllStringSubmatch(string(text), -1) {
			kind := strings.TrimPrefix(m[1], "emit")
			want[m[2]] = strings.Replace(kind, "Failure", "Warning", 1)
		}
		for _, m := range driftCall.FindAllStringSubmatch(string(text), -1) {
			want[m[1]] = "Normal"
		}
	}
	// A graph that stalls as a whole has an Event with the reason.
	reasons, err := os.ReadFile("applier/controller/reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range stallReason.FindAllStringSubmatch(string(reasons), -1) {
		want[m[1]] = "Warning"
	}
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range eventRow.FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Events (-code +%s):\n%s", operationsDoc, diff)
	}
}
