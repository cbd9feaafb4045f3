package report

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/pequod-io/pequod/internal/problem"
)

func gitlabOf(t *testing.T, problems ...problem.Problem) []gitlabProblem {
	t.Helper()
	var all []gitlabProblem
	if err := json.Unmarshal([]byte(write(t, "gitlab", problems, nil, Options{})), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// GitLab lists a problem as new if its fingerprint is not in the report of the target
// branch, and shows one problem of each fingerprint.
func TestGitLabFingerprints(t *testing.T) {
	at := func(line int, file, message string) problem.Problem {
		return problem.Problem{Position: problem.Position{File: file, Line: line}, Message: message}
	}
	before := gitlabOf(t, at(3, "a.yaml", "wrong"), at(9, "a.yaml", "wrong"), at(3, "b.yaml", "wrong"))
	after := gitlabOf(t, at(13, "a.yaml", "wrong"), at(19, "a.yaml", "wrong"), at(3, "b.yaml", "other"))
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("%d and %d problems", len(before), len(after))
	}
	for i, same := range []bool{true, true, false} {
		if (before[i].Fingerprint == after[i].Fingerprint) != same {
			t.Errorf("problem %d: %s and %s", i, before[i].Fingerprint, after[i].Fingerprint)
		}
	}
	var prints []string
	for _, p := range before {
		prints = append(prints, p.Fingerprint)
	}
	slices.Sort(prints)
	if n := len(slices.Compact(prints)); n != 3 {
		t.Errorf("%d fingerprints for 3 problems", n)
	}
}

// GitLab refuses a whole report if one problem in it has no path or line.
func TestGitLabLocations(t *testing.T) {
	for _, p := range gitlabOf(t, append(someProblems(), hostileProblems()...)...) {
		if p.Location.Path == "" || p.Location.Lines.Begin < 1 || p.Description == "" || p.CheckName == "" {
			t.Errorf("%+v", p)
		}
	}
}
