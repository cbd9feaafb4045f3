package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noFailures are reasons of Transforms and instances that need no action.
var noFailures = []string{"Succeeded", "ServiceAccountName", "Progressing", "WaitingForManager"}

// TestOperatorReasons checks that the runbook lists every reason of a Transform, of an
// instance and of an InstanceSource, and the causes of failed fetches.
func TestOperatorReasons(t *testing.T) {
	causes := append(constants(t, "operator/fetch/reason.go", ""), constants(t, "modules/oci/error.go", "")...)
	causes = slices.DeleteFunc(causes, func(c string) bool { return strings.Contains(c, " ") }) // a hint
	transforms := append(constants(t, "operator/transform/blocked.go", "reason"), constants(t, "api/v1alpha1/transformstatus.go", "Reason")...)
	// Those of the API server that stop a Transform; see requestFailed.
	transforms = slices.Concat(transforms, causes, []string{"Forbidden", "Invalid", "BadRequest"})
	checkTable(t, "| reason of a Transform | what to do |", transforms)
	checkTable(t, "| reason | meaning | action |", constants(t, "operator/instance/status.go", "reason"))
	checkTable(t, "| reason of an InstanceSource | meaning | action |", constants(t, "operator/source/failure.go", "reason"))
	checkTable(t, "| reason | cause |", causes)
}

// TestOperatorReasonsAreConstants checks that TestOperatorReasons sees all reasons.
func TestOperatorReasonsAreConstants(t *testing.T) {
	literal := regexp.MustCompile(`(?:waiting\(|\.refuse\(|reason: +|reason = )"\w+"`)
	for _, dir := range []string{"operator/transform", "operator/instance", "operator/source"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := literal.FindString(string(text)); found != "" && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: %s isn't a constant, so the runbook may lack it", file, found)
			}
		}
	}
}

// checkTable compares the names in the first column of a table with those that it must have.
func checkTable(t *testing.T, head string, want []string) {
	t.Helper()
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), head+"\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table %q", operationsDoc, head)
	}
	var listed []string
	for row := range strings.SplitSeq(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			listed = append(listed, span[1])
		}
	}
	want = slices.DeleteFunc(want, func(r string) bool { return slices.Contains(noFailures, r) })
	slices.Sort(want)
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Compact(want), listed); diff != "" {
		t.Errorf("%s (-code +%s):\n%s", head, operationsDoc, diff)
	}
}

// emitted are the reasons of Events in the code of Transforms.
var emitted = regexp.MustCompile(`(?:event: |s\.emit\([^,]+, )"(\w+)"`)

// TestOperatorEvents checks that the handbook lists the Events of Transforms whose reason isn't
// that of a condition.
func TestOperatorEvents(t *testing.T) {
	files, err := filepath.Glob("operator/transform/*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range emitted.FindAllStringSubmatch(string(text), -1) {
			want[m[1]] = true
		}
	}
	if len(want) < 4 {
		t.Fatalf("found the Events %v", want)
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	checkTable(t, "| Event of a Transform | meaning | type |", names)
}
