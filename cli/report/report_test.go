package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func someProblems() problem.List {
	return problem.List{{
		Position: problem.Position{File: "app.yaml", Line: 7, Column: 9}, Path: "spec.port", Message: "70000 is not <=65535",
		Rule: "constraint", Related: problem.Position{File: "webservice/schema.cue", Line: 8, Column: 14}, Instance: "WebService default/web",
	}, {
		Position: problem.Position{File: "app.yaml", Line: 6, Column: 3}, Path: "spec.imgae", Message: "unknown field", Hint: `did you mean "image"?`,
		Rule: "unknown", Related: problem.Position{File: "webservice/schema.cue", Line: 6, Column: 2}, Instance: "WebService default/web",
	}, {
		Position: problem.Position{File: "app.yaml", Line: 9, Column: 3}, Path: "spec.replicas", Message: "gold needs 3 replicas",
		Rule: "policy", Severity: problem.Warning, Instance: "WebService default/web",
	}, {
		Position: problem.Position{File: "app.yaml", Line: 31, Column: 1}, Path: "spec", Message: "100%: \"really\"", Rule: "policy", Severity: problem.Note,
		Instance: "WebService default/shop",
	}, {
		Position: problem.Position{File: "broken, and: odd 50%.yaml", Line: 2}, Message: "did not find expected key", Rule: "yaml",
	}, {
		Position: problem.Position{File: "big.yaml"}, Message: "graph is 801 KiB, more than 700 KiB", Instance: "WebService default/big", Rule: "graph",
	}, {
		Position: problem.Position{File: "/abs/teams/é.yaml", Line: 3, Column: 1}, Path: "spec.image", Message: "required field is missing",
		Rule: "required", Instance: "WebService a/b",
	}, {
		Message: "no platform given",
	}, {
		Position: problem.Position{File: "app.yaml", Line: 7, Column: 9}, Path: "spec.port", Message: "70000 is not <=65535",
		Rule: "constraint", Related: problem.Position{File: "webservice/schema.cue", Line: 8, Column: 14}, Instance: "WebService default/web", Severity: problem.Error,
	}}
}

func someSubjects() []Subject {
	return []Subject{
		{"ok.yaml", "WebService default/ok"},
		{"app.yaml", "WebService default/web"},
		{"app.yaml", "WebService default/shop"},
		{"app.yaml", "WebService default/api"},
		{"big.yaml", "WebService default/big"},
	}
}

// hostile returns strings that a file name, a YAML value or a module could contain.
func hostile() []string {
	return []string{
		"a\nb", "a\r\n::error::forged", "\x00\x01\x1b[31mred\x1b[0m\x7f", "bad\xff\xfeutf8", "<![CDATA[ ]]> &amp; <x y='\"'>",
		`quote " and ' and \ back`, "%0A%25", ":,;", "\u2028\u2029\u202eevil", "💥\ufffe\uffff", "", "  ",
	}
}

func hostileProblems() problem.List {
	var problems problem.List
	for i, s := range hostile() {
		problems = append(problems, problem.Problem{
			Position: problem.Position{File: s, Line: i % 3, Column: i % 2}, Path: s, Message: s, Hint: s, Rule: s, Related: problem.Position{File: s}, Instance: s,
			Severity: []problem.Severity{problem.Error, problem.Warning, problem.Note}[i%3],
		})
	}
	return problems
}

func write(t *testing.T, format string, problems problem.List, checked []Subject, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, problems, checked, o); err != nil {
		t.Fatalf("Write %s: %v", format, err)
	}
	return b.String()
}

func TestWriteGolden(t *testing.T) {
	for _, format := range append(Formats(), "color") {
		t.Run(format, func(t *testing.T) {
			o := Options{Version: "v1.2.3"}
			name := filepath.Join("testdata", "problems."+format)
			if format == "color" {
				format, o.Color = "text", true
			}
			got := write(t, format, someProblems(), someSubjects(), o)
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestTextIsExact(t *testing.T) {
	for _, test := range []struct {
		name    string
		problem problem.Problem
		want    string
	}{
		{"all", problem.Problem{Position: problem.Position{File: "app.yaml", Line: 7, Column: 9}, Path: "spec.port", Message: "70000 is not <=65535", Related: problem.Position{File: "webservice/schema.cue", Line: 8, Column: 14}},
			"app.yaml:7:9: spec.port: 70000 is not <=65535 (webservice/schema.cue:8:14)"},
		{"hint", problem.Problem{Position: problem.Position{File: "app.yaml", Line: 7, Column: 9}, Path: "spec.imgae", Message: "unknown field", Hint: `did you mean "image"?`, Related: problem.Position{File: "s.cue", Line: 1, Column: 2}},
			`app.yaml:7:9: spec.imgae: unknown field; did you mean "image"? (s.cue:1:2)`},
		{"warning", problem.Problem{Position: problem.Position{File: "app.yaml", Line: 7}, Path: "spec", Message: "old", Severity: problem.Warning}, "app.yaml:7: warning: spec: old"},
		{"note", problem.Problem{Position: problem.Position{File: "app.yaml", Line: 7}, Message: "old", Severity: problem.Note}, "app.yaml:7: note: old"},
		{"no line", problem.Problem{Position: problem.Position{File: "app.yaml"}, Instance: "WebService a/b", Message: "too big"}, "app.yaml: WebService a/b: too big"},
		{"no file", problem.Problem{Instance: "WebService a/b", Message: "too big"}, "WebService a/b: too big"},
		{"nothing", problem.Problem{Message: "too big"}, "too big"},
		{"several lines", problem.Problem{Position: problem.Position{File: "a\nb", Line: 1}, Message: "one\n\ttwo\x1b[0m\xff\u202e"}, `a\nb:1: one\n\ttwo\x1b[0m\xff\u202e`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := write(t, "text", problem.List{test.problem}, nil, Options{}); got != test.want+"\n" {
				t.Errorf("got  %q\nwant %q", got, test.want+"\n")
			}
		})
	}
}

func TestOrderOfDiscoveryDoesNotShow(t *testing.T) {
	for _, format := range Formats() {
		want := write(t, format, someProblems(), someSubjects(), Options{})
		for range 20 {
			problems, checked := someProblems(), someSubjects()
			rand.Shuffle(len(problems), func(i, j int) { problems[i], problems[j] = problems[j], problems[i] })
			rand.Shuffle(len(checked), func(i, j int) { checked[i], checked[j] = checked[j], checked[i] })
			before := slices.Clone(problems)
			if got := write(t, format, problems, checked, Options{}); got != want {
				t.Fatalf("%s differs by order:\n%s", format, cmp.Diff(want, got))
			}
			if !slices.Equal(before, problems) {
				t.Fatalf("%s: Write reordered its argument", format)
			}
		}
	}
}

// A problem of a module is found once per instance, and printed once.
func TestMergesProblemsOfModules(t *testing.T) {
	inModule := func(line int) problem.Problem {
		return problem.Problem{
			Position: problem.Position{File: "m.cue", Line: 4, Column: 2}, Message: "conflict", Rule: "module",
			Related:  problem.Position{File: "m.cue", Line: 9, Column: 1},
			Instance: "WebService a/b", InstanceAt: problem.Position{File: "app.yaml", Line: line, Column: 1},
		}
	}
	problems := problem.List{inModule(5), inModule(1), inModule(9), {Message: "other", Instance: "WebService a/b"}}
	want := "WebService a/b: other\nm.cue:4:2: conflict (rendering app.yaml:5:1 and 2 more)\n"
	if got := write(t, "text", problems, nil, Options{}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = "m.cue:4:2: conflict (rendering app.yaml:5:1)\n"
	if got := write(t, "text", problems[:1], nil, Options{}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := Summary(problems, nil), "0 instances checked: 2 errors"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := JSON(problems); len(got) != 2 || got[0].Message != "conflict" {
		t.Errorf("JSON doesn't keep the order: %+v", got)
	}
}

func TestHostileText(t *testing.T) {
	problems := hostileProblems()
	for _, format := range []string{"text", "github"} {
		out := write(t, format, problems, nil, Options{})
		if n := strings.Count(out, "\n"); n != len(problems) {
			t.Errorf("%s: %d lines for %d problems:\n%q", format, n, len(problems), out)
		}
		for line := range strings.Lines(out) {
			if format == "github" && !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") &&
				!strings.HasPrefix(line, "::notice ") && !strings.HasPrefix(line, "::error::") &&
				!strings.HasPrefix(line, "::warning::") && !strings.HasPrefix(line, "::notice::") {
				t.Errorf("not a workflow command: %q", line)
			}
			if !utf8.ValidString(line) || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
				t.Errorf("%s: unescaped: %q", format, line)
			}
		}
	}
}

func TestGitHubEscaping(t *testing.T) {
	p := problem.Problem{Position: problem.Position{File: "50%, a:b\r\n.yaml", Line: 1, Column: 2}, Message: "100%: a, b", Rule: "constraint"}
	want := `::error file=50%25%2C a%3Ab\r\n.yaml,line=1,col=2,title=constraint::100%25: a, b` + "\n"
	if got := write(t, "github", problem.List{p}, nil, Options{}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	if got := write(t, "json", nil, nil, Options{}); got != "[]\n" {
		t.Errorf("no problems: %q, want []", got)
	}
	var back []JSONProblem
	if err := json.Unmarshal([]byte(write(t, "json", someProblems(), nil, Options{})), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jsonProblems(sorted(merged(someProblems()))), back); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	for _, format := range []string{"json", "gitlab", "sarif"} {
		if out := write(t, format, hostileProblems(), nil, Options{Version: "\xff"}); !json.Valid([]byte(out)) || !utf8.ValidString(out) {
			t.Errorf("%s isn't JSON in UTF-8:\n%q", format, out)
		}
	}
}

func TestJUnitIsWellFormed(t *testing.T) {
	var checked []Subject
	for _, s := range hostile() {
		checked = append(checked, Subject{s, s}, Subject{"ok", s})
	}
	out := write(t, "junit", hostileProblems(), checked, Options{})
	for d := xml.NewDecoder(strings.NewReader(out)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
	}
	if got := write(t, "junit", nil, nil, Options{}); !strings.Contains(got, `tests="0" failures="0"`) {
		t.Errorf("nothing checked:\n%s", got)
	}
}

func TestJUnitCounts(t *testing.T) {
	type suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []struct{} `xml:"testcase"`
	}
	var all struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Suites   []suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(write(t, "junit", someProblems(), someSubjects(), Options{})), &all); err != nil {
		t.Fatal(err)
	}
	cases, failures := 0, 0
	for _, s := range all.Suites {
		if s.Tests != len(s.Cases) {
			t.Errorf("%s: tests=%d, but %d cases", s.Name, s.Tests, len(s.Cases))
		}
		cases += len(s.Cases)
		failures += s.Failures
	}
	// Five instances, and three subjects that are not among them.
	if all.Tests != cases || cases != 8 || all.Failures != failures || failures != 5 {
		t.Errorf("tests=%d of %d, failures=%d of %d; want 8 and 5", all.Tests, cases, all.Failures, failures)
	}
}

func TestWriteErrors(t *testing.T) {
	err := Write(io.Discard, "yaml", nil, nil, Options{})
	if err == nil || err.Error() != `output format "yaml": want one of text, json, github, gitlab, sarif, junit` {
		t.Errorf("unknown format: %v", err)
	}
	for _, format := range Formats() {
		if err := Write(full{}, format, someProblems(), someSubjects(), Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", format, err)
		}
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		problems problem.List
		checked  []Subject
		want     string
	}{
		{nil, nil, "0 instances checked: no problems"},
		{nil, someSubjects()[:1], "1 instance checked: no problems"},
		{someProblems(), someSubjects(), "5 instances checked: 6 errors, 1 warning, 1 note"},
	} {
		if got := Summary(test.problems, test.checked); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
