package markdown_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/markdown"
)

// report returns the report about n ConfigMaps that change in n ways. Each name and value
// ends with text.
func report(t *testing.T, n int, text string) *review.Report {
	t.Helper()
	tree := func(value string) review.Tree {
		tree := review.Tree{Side: review.Side{Name: "test" + text}}
		for i := range n {
			name := fmt.Sprintf("m%d%s", i, text)
			manifest := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "d"},
				"data": map[string]any{fmt.Sprintf("k%d%s", i, text): value + text}}
			objects, err := objectdiff.FromManifest(manifest, "")
			if err != nil {
				t.Fatal(err)
			}
			tree.Units = append(tree.Units, review.Unit{Instance: objectdiff.Instance{Kind: "ConfigMap", Namespace: "d", Name: name, File: "f" + text}, Objects: objects})
		}
		tree.Units = append(tree.Units, review.Unit{Instance: objectdiff.Instance{Kind: "Shop", Name: "bad" + text},
			Problems: problem.List{{Message: "wrong" + text, Position: problem.Position{File: "f" + text, Line: 1}}}})
		return tree
	}
	r, err := review.New(tree("a"), tree("b"), []review.Input{{Kind: review.InputModule, Name: "m" + text, Action: objectdiff.Modify, Old: "1" + text, New: "2" + text, Notes: []string{text}, Breaking: []string{text}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, r *review.Report, size int) string {
	t.Helper()
	var b strings.Builder
	if err := markdown.Write(&b, r, size); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A comment fits its size, and names what it leaves out and where the rest is.
func TestSize(t *testing.T) {
	r := report(t, 300, "")
	r.Link = "https://ci.example.com/1"
	whole := write(t, r, 0)
	if strings.Contains(whole, "Too long") {
		t.Error("something is left out without a limit")
	}
	for _, size := range []int{60_000, 20_000, 5_000, 1_000} {
		text := write(t, r, size)
		if n := utf8.RuneCountInString(text); n > size || n < size*8/10 {
			t.Errorf("limit %d: %d characters", size, n)
		}
		if !strings.HasPrefix(text, "**0 to add, 300 to change, 0 to remove") || !strings.Contains(text, "left out. The whole report: <https://ci.example.com/1>") {
			t.Errorf("limit %d: %.100s … %s", size, text, text[max(0, len(text)-200):])
		}
	}
}

// Whatever a stranger writes, a comment has no mentions, HTML or links of the stranger, and
// its own sections stay balanced.
func TestHostile(t *testing.T) {
	// Code spans and code blocks are text, whatever is in them.
	code := regexp.MustCompile("(?s)(`{3,})(?:diff|mermaid)?\n.*?\n`{3,}\n|(`+) ?[^`].*?`+")
	summary := regexp.MustCompile("<summary>.*</summary>")
	for _, text := range []string{
		"@team", "</details>", "</code></summary>", "<script>alert(1)</script>", "[x](https://evil.example.com)", "![x](https://evil.example.com)",
		"<!-- pequod -->", "\n\n# x\n", "\x1b[31m", "https://evil.example.com", "**x**", "| a |\n|---|", "\u202egnp",
	} {
		out := code.ReplaceAllString(write(t, report(t, 2, text), 0), "CODE")
		for _, bad := range []string{"@team", "<script", "<!--", "\n# x", "\x1b", "\u202e", "</code></summary></code>"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q: the comment has %q:\n%s", text, bad, out)
			}
		}
		// A summary is HTML, in which Markdown is text.
		for _, bad := range []string{"[x](", "![x", "https://", "**x**"} {
			out := summary.ReplaceAllString(out, "SUMMARY")
			if strings.Contains(out, bad) {
				t.Errorf("%q: the comment has %q:\n%s", text, bad, out)
			}
		}
		if open, closed := strings.Count(out, "<details>"), strings.Count(out, "</details>"); open != closed {
			t.Errorf("%q: %d sections begin, %d end", text, open, closed)
		}
	}
}

// One value of a megabyte leaves room for the others.
func TestLongValues(t *testing.T) {
	text := write(t, report(t, 2, strings.Repeat("x", 1<<20)), 60_000)
	if n := utf8.RuneCountInString(text); n > 60_000 {
		t.Errorf("%d characters", n)
	}
	if !strings.Contains(text, "characters)") || !strings.Contains(text, "#### ") {
		t.Errorf("%.2000s", text)
	}
}
