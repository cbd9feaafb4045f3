package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/review"
)

// reviewFormats are the formats of a report with the extensions of their expected output.
var reviewFormats = map[string]string{"text": "txt", "markdown": "md", "html": "html", "json": "json"}

// pageAssets are the style and the script of a page, which is the same for all reports.
var pageAssets = regexp.MustCompile("(?s)<(style|script)>.*?</(?:style|script)>")

// TestReviews makes a repository for each change in testdata/reviews, and compares the
// reports about the change in all formats with the expected ones. Run the test with -update
// to rewrite these.
//
// A change is an archive of files: "-- FILE --" adds one, "-- remove --" lists files to
// remove, and "-- edit --" has a pattern of files, an old text and the new text, one per
// line; further lines belong to the new text. With the word base in front, the file is
// part of the base.
func TestReviews(t *testing.T) {
	dir := filepath.Join("testdata", "reviews")
	changes, err := filepath.Glob(filepath.Join(dir, "[0-9]*.txtar"))
	if err != nil || len(changes) < 20 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	for _, file := range changes {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := changedRepository(t, filepath.Join(dir, "base.txtar"), file)
			reports := t.TempDir()
			args := []string{"review", "--allow-secrets", "--source-link", "https://example.com/{file}#L{line}"}
			for format := range reviewFormats {
				args = append(args, "--report", format+"="+filepath.Join(reports, format))
			}
			out, code := runIn(t, repo, "pequod", args...)
			for format, extension := range reviewFormats {
				data, err := os.ReadFile(filepath.Join(reports, format))
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if format == "html" {
					data = pageAssets.ReplaceAll(data, []byte("<$1>…</$1>"))
					data = regexp.MustCompile("sha256-(?:[A-Za-z0-9+/=]|&#43;)*").ReplaceAll(data, []byte("sha256-…"))
				}
				if format == "text" {
					data = fmt.Appendf(data, "\nexit code %d\n", code)
				}
				if format == "json" {
					checkFieldLines(t, repo, data)
				}
				compareGolden(t, filepath.Join(dir, name+"."+extension), data)
			}
		})
	}
}

// checkFieldLines checks that every changed field of a report in JSON is at its place in the
// instance and in the module: in the repository, or in its commit if the field is removed.
func checkFieldLines(t *testing.T, repo string, data []byte) {
	t.Helper()
	var report review.JSON
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	for _, g := range report.Groups {
		for _, in := range g.Instances {
			for _, f := range in.Fields {
				if text := lineOf(t, repo, f); !strings.HasPrefix(text[f.Column-1:], lastName(f)) {
					t.Errorf("%s of %s is not at %s:%d:%d", f.Path, in.Name, f.File, f.Line, f.Column)
				}
			}
		}
		for _, o := range g.Objects {
			if o.Node != "" && len(o.ModuleFields) != len(o.Changes) {
				t.Errorf("%s %s has %d changed fields, and %d with a place in the module", o.Kind, o.Name, len(o.Changes), len(o.ModuleFields))
			}
			for _, f := range o.ModuleFields {
				parent, _, _ := strings.Cut(f.Path, "."+lastName(f)) // of a map that comes from the instance
				if text := lineOf(t, repo, f); !strings.Contains(text, lastName(f)) && !strings.Contains(text, parent+": ") {
					t.Errorf("%s of %s %s is not set at %s:%d", f.Path, o.Kind, o.Name, f.File, f.Line)
				}
			}
		}
	}
}

// lineOf returns the line of a field.
func lineOf(t *testing.T, repo string, f review.JSONField) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repo, f.File))
	if _, path, ok := strings.Cut(f.File, ":"); ok {
		out, _ := runIn(t, repo, "git", "show", "HEAD:"+path)
		text, err = []byte(out), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if f.Line > len(lines) {
		t.Fatalf("%s has no line %d", f.File, f.Line)
	}
	return lines[f.Line-1]
}

// lastName returns the last name of a field's path.
func lastName(f review.JSONField) string { return f.Path[strings.LastIndex(f.Path, ".")+1:] }

// compareGolden compares data with a file, or writes the file with -update.
func compareGolden(t *testing.T, file string, data []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(data)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// runIn runs a command in a directory and returns its output and exit code.
func runIn(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// changedRepository returns a repository whose branch main has the base, with the change in
// its working tree.
func changedRepository(t *testing.T, base, change string) string {
	t.Helper()
	repo := t.TempDir()
	for _, f := range parseArchive(t, base) {
		writeIn(t, repo, f.Name, f.Data)
	}
	for i := 1; i <= 12; i++ {
		writeIn(t, repo, fmt.Sprintf("apps/shop-%02d.yaml", i), fmt.Appendf(nil, `apiVersion: example.com/v1alpha1
kind: Shop
metadata: {name: shop-%02d, namespace: team-%d}
spec: {image: "registry.example.com/shop:1.4.0", replicas: 2}
`, i, i%3+1))
	}
	files := parseArchive(t, change)
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.Name, "base "); ok {
			changeFile(t, repo, name, f.Data)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "base"}} {
		if out, code := runIn(t, repo, "git", args...); code != 0 {
			t.Fatal(out)
		}
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name, "base ") {
			changeFile(t, repo, f.Name, f.Data)
		}
	}
	return repo
}

func parseArchive(t *testing.T, file string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// changeFile makes one change of an archive.
func changeFile(t *testing.T, repo, name string, data []byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	switch name {
	case "remove":
		for _, file := range lines {
			if err := os.Remove(filepath.Join(repo, file)); err != nil {
				t.Fatal(err)
			}
		}
	case "edit":
		files, err := filepath.Glob(filepath.Join(repo, lines[0]))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", lines[0], len(files), err)
		}
		for _, file := range files {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(before, []byte(lines[1])) {
				t.Fatalf("%s lacks %q", file, lines[1])
			}
			after := bytes.ReplaceAll(before, []byte(lines[1]), []byte(strings.Join(lines[2:], "\n")))
			if err := os.WriteFile(file, after, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	default:
		writeIn(t, repo, name, data)
	}
}

func writeIn(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReviewDocument checks that docs/review.md shows a report as the command prints it.
func TestReviewDocument(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "review.md"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(filepath.Join("testdata", "reviews", "15-service-type.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(string(report), "\nexit code")
	if !strings.Contains(string(doc), "```text\n"+shown+"```\n") {
		t.Errorf("docs/review.md lacks this report:\n%s", shown)
	}
}
