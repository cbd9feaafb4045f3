package yamlfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// objectsOf describes the objects of a file: positions, keys and problems.
func objectsOf(data []byte) []string {
	var all []string
	for doc, ps := range Objects("app.yaml", data) {
		if ps != nil {
			return append(all, ps.Error())
		}
		_, ps := doc.Syntax()
		all = append(all, fmt.Sprintf("%s %s c at %s %s", doc.Start(), doc.Text("kind"), doc.At("a.c"), ps.Error()))
	}
	return all
}

// TestParts compares the objects of a file with those of the texts of its parts.
func TestParts(t *testing.T) {
	for name, file := range map[string]string{
		"one document":             "kind: A\na: {c: 1}\n",
		"documents":                "# first\nkind: A\na:\n  c: 1\n--- # second\nkind: B\na: {c: 2}\n---\n\n---\nkind: C\n",
		"no line feed at the end":  "kind: A\n---\nkind: B\na: {c: |+\n   x\n   }",
		"byte order mark, CRLF":    "\ufeffkind: A\r\n---\r\na:\r\n  c: 1\r\nkind: B\r\n",
		"JSON":                     ` {"kind": "A"} {"kind": "B",` + "\n" + ` "a": {"c": "\/"}}`,
		"YAML that starts as JSON": "{\"kind\": \"A\"}\n---\n{\"kind\": \"B\", \"a\": {\"c\": \"\\/\"}}\n",
		"list":                     "kind: Z\n---\napiVersion: v1\nkind: List\nitems:\n- kind: A\n  a: {c: 1}\n- 7\n- {kind: B}\n",
		"values that are refused":  "kind: A\n---\nkind: B\na:\n  c: yes\n  c: 1\n---\nkind: ! C\n",
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for part, ps := range Parts("app.yaml", []byte(file), 0) {
				if ps != nil {
					t.Fatal(ps)
				}
				got = append(got, objectsOf(part.Text())...)
			}
			if diff := cmp.Diff(objectsOf([]byte(file)), got); diff != "" {
				t.Errorf("objects of the parts (-file +parts):\n%s", diff)
			}
		})
	}
}

// TestEmptyParts skips parts without a document, and no others.
func TestEmptyParts(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string // the lines at which the parts begin
	}{
		"nothing":             {"", nil},
		"separators":          {"---\n---\n--- # a\n---", nil},
		"blank and comments":  {"\n  \n---\n# a: 1\n  # é\n---\r\n# a\r\n\r\n---\na: 1\n", []string{"10"}},
		"before and behind":   {"a: 1\n---\n---\n# a\n---\nb: 1\n---\n", []string{"1", "6"}},
		"text behind comment": {"# a\u2028b: 1\n---\n# c\u0085d: 1\n", []string{"1", "4"}},
		"null":                {"~\n---\n\t\n---\n...\n", []string{"1", "3", "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for part, ps := range Parts("app.yaml", []byte(test.file), 0) {
				if ps != nil {
					t.Fatal(ps)
				}
				got = append(got, fmt.Sprint(part.line))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// BenchmarkSeparators reads 4 MiB of separators.
func BenchmarkSeparators(b *testing.B) {
	data := bytes.Repeat([]byte("---\n"), 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for _, ps := range Documents("app.yaml", data) {
			b.Fatal("a document", ps)
		}
	}
}

// TestText reads the kinds of documents that use aliases and merge keys, and compares them with
// those that the whole document has.
func TestText(t *testing.T) {
	for file, want := range map[string]string{
		"kind: A\n":                          "A",
		"a: &k A\nkind: *k\n":                "A",
		"? &k kind\n: A\n":                   "A",
		"<<: {kind: A}\n":                    "A",
		"<<: {kind: A}\nkind: B\n":           "B",
		"a: &m {kind: A}\n<<: *m\n":          "A",
		"<<: [{a: 1}, {kind: A}, {kind: B}]": "A",
		"<<: {a: 1, <<: {kind: A}}":          "A",
		"<<: []":                             "",
		"<<: A":                              "",
		"\"<<\": {kind: A}":                  "",
		"kind: [A]":                          "",
		"a: {kind: A}":                       "",
		"- kind: A":                          "",
	} {
		for doc, ps := range Documents("app.yaml", []byte(file)) {
			if got := doc.Text("kind"); got != want || ps != nil {
				t.Errorf("%q: %q, %v; want %q", file, got, ps, want)
			}
			if want == "" {
				continue
			}
			e, ps := doc.Syntax()
			if got, _ := cuesyntax.Text(cuesyntax.ValueAt(e, []string{"kind"})); got != want || ps != nil {
				t.Errorf("%q: the whole document has the kind %q, %v", file, got, ps)
			}
		}
	}
	// Anchors that contain themselves or multiply are searched once.
	many := "a0: &a0 {a: 1}\n"
	for i := range 60 {
		many += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d]}\n", i+1, i+1, i, i)
	}
	for _, file := range []string{"&a\n<<: *a\n", "&a\n<<: [*a, {b: *a}]\nkind: *a\n", many + "<<: *a60\n"} {
		for doc := range Documents("app.yaml", []byte(file)) {
			if got := doc.Text("kind"); got != "" {
				t.Errorf("%q: %q", file, got)
			}
		}
	}
	// A List can have a merge key, too, and its items can be aliases.
	list := "a: &a {kind: A}\n<<: {apiVersion: v1, kind: List}\nitems: [*a, {<<: *a, b: 1}]\n"
	var kinds []string
	for doc, ps := range Objects("app.yaml", []byte(list)) {
		if ps != nil {
			t.Fatal(ps)
		}
		kinds = append(kinds, doc.Text("kind"))
	}
	if diff := cmp.Diff([]string{"A", "A"}, kinds); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// TestMarks compares the number of marks with the numbers of nodes and lines that parsers make of
// random texts.
func TestMarks(t *testing.T) {
	words := []string{"-", "- ", "-\t", "?", "? ", ":", ": ", ",", ", ", "[", "]", "{", "}", "a", "1", "\"", "'", "&a ", "*a ", "!", "! ", "!!str ", "|\n", ">", "#", "\n", "\n  ", "\r\n", "\u0085", "\u2028", "---\n", "...\n", "é"}
	random, parsed := rand.New(rand.NewPCG(1, 2)), 0
	texts := []string{"", "a", "- - - a\n", "-\n-\n-\n", "? \n? \n", "?\n?\n", "[a: ,b: ,{c},[d]]\n", strings.Repeat("[", 20) + strings.Repeat("]", 20), strings.Repeat("{", 20) + strings.Repeat("}", 20), "[" + strings.Repeat("a: ,", 20) + "]", "{? ,? ,\"a\":1}\n", `{"a":[{},"",0],"b":{"":null}}`, "a:\n- b:\n  - c: [d,]\n"}
	for range 20_000 {
		var text strings.Builder
		for range 1 + random.IntN(12) {
			text.WriteString(words[random.IntN(len(words))])
		}
		texts = append(texts, text.String())
	}
	for _, text := range texts {
		f, marks := newFile("a.yaml", []byte(text)), Marks([]byte(text))
		nodes := 0
		for doc, ps := range f.documents() {
			if ps == nil {
				nodes += nodesOf(doc)
			}
		}
		if nodes > 1 {
			parsed++
		}
		if nodes > 2*marks+3 || len(f.lines)-2 > marks || len(f.bareTags) > marks {
			t.Errorf("%q: %d nodes, %d lines and %d tags of %d marks", text, nodes, len(f.lines), len(f.bareTags), marks)
		}
	}
	if parsed < 500 {
		t.Errorf("%d texts have more than one value", parsed)
	}
}

// nodesOf returns the number of nodes of a tree. Aliases are not followed.
func nodesOf(n *yaml.Node) int {
	nodes := 1
	for _, c := range n.Content {
		nodes += nodesOf(c)
	}
	return nodes
}

// TestPartsRefused splits files with mistakes, and with parts of more than 100 bytes or too many values.
func TestPartsRefused(t *testing.T) {
	long := strings.Repeat("#", 100)
	for name, test := range map[string]struct {
		file, want string
		parts      int
	}{
		"several small ones": {"a: " + long[:90] + "\n---\nb: " + long[:90] + "\n", "", 2},
		"large document":     {"a: 1\n---\n" + long + "\nb: 1\n", "app.yaml:3:1: a document of more than 100 bytes", 1},
		"large JSON":         {`{"a": "` + long + `"}`, "app.yaml:1:1: a document of more than 100 bytes", 0},
		"many values":        {"a: 1\n---\n" + "b: [" + strings.Repeat("1,", 200_000) + "]\n", "app.yaml:3:1: a document with more than 200000 values and lines", 1},
		"many lines":         {"a: 1\n---\n" + strings.Repeat("\n", 200_001), "app.yaml:3:1: a document with more than 200000 values and lines", 1},
		"many JSON values":   {`{"a": [` + strings.Repeat("1,", 200_000) + "1]}", "app.yaml:1:1: a document with more than 200000 values and lines", 0},
		"binary":             {"a: 1\nb: \x00", "app.yaml:2:4: character U+0000 is not allowed", 0},
		"text after ---":     {"a: 1\n--- x\n", "app.yaml:2:1: text after ---; begin the document on the next line", 0},
	} {
		t.Run(name, func(t *testing.T) {
			parts, got, limit := 0, "", 100
			if strings.HasPrefix(name, "many ") {
				limit = len(test.file) + 1
			}
			for _, ps := range Parts("app.yaml", []byte(test.file), limit) {
				if ps != nil {
					got = ps.Error()
				} else {
					parts++
				}
			}
			if got != test.want || parts != test.parts {
				t.Errorf("%d parts, %q; want %d, %q", parts, got, test.parts, test.want)
			}
		})
	}
}
