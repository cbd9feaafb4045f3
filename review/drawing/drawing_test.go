package drawing

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// hostile is text that would be markup, commands or invisible if it weren't escaped.
const hostile = "\"'><script>alert(1)</script></svg>&amp;]]><!-- \x1b[31m\x00\u202e\xff $& `x`"

func example(text string) Graph {
	return Graph{
		Title: text,
		Nodes: []Node{
			{Lines: []string{"db", "Database/main", "external"}, External: true, Mark: Removed},
			{Lines: []string{text, text, text}, Mark: Changed, Link: "#" + text},
			{Lines: []string{"new", "Service/new"}, Mark: Added}, {Lines: []string{"old"}, Mark: Unknown}, {},
		},
		Edges: []Edge{{From: 0, To: 1, Kind: Reference, Path: text}, {From: 1, To: 2}, {From: 3, To: 2, Kind: Implied}, {From: 0, To: 2}},
	}
}

// elements returns how often each element occurs, and all text and attributes. It
// fails if the drawing is not well-formed.
func elements(t *testing.T, svg string) (count map[string]int, text string) {
	t.Helper()
	count = map[string]int{}
	var b strings.Builder
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, b.String()
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			count[token.Name.Local]++
			for _, a := range token.Attr {
				fmt.Fprintln(&b, a.Value)
			}
		case xml.CharData:
			b.Write(token)
		}
	}
}

// Any text yields the elements that plain text yields.
func TestHostileText(t *testing.T) {
	for name, draw := range map[string]func(Graph) string{
		"document": func(g Graph) string { return Document([]Graph{g, g}) },
		"element":  Element,
	} {
		plain, _ := elements(t, draw(example("web")))
		got, text := elements(t, draw(example(hostile)))
		if fmt.Sprint(plain) != fmt.Sprint(got) {
			t.Errorf("%s: %v with hostile text, %v without", name, got, plain)
		}
		if strings.ContainsAny(text, "\x1b\x00\u202e") || !strings.Contains(text, `\u202e`) {
			t.Errorf("%s: invisible characters are not escaped", name)
		}
	}
}

func TestNames(t *testing.T) {
	_, text := elements(t, Element(example("web")))
	for _, want := range []string{
		"web: 5 nodes, 3 waves",
		"web, web, web, changed, wave 2, waits for db ($from)",
		"new, Service/new, added, wave 3, waits for web, old (implied)",
		"old, unknown, wave 1",
		"web waits for db: web", "~ changed", "− removed", "+ added", "? unknown",
		"left out: 1 arrow that others imply",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// A blocking arrow tells a state, so it stays although others imply it.
func TestBlockingArrowsStay(t *testing.T) {
	g := Graph{Nodes: make([]Node, 3), Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}}}
	for kind, want := range map[EdgeKind]int{Listed: 2, Reference: 2, Implied: 2, Blocking: 3} {
		g.Edges[2].Kind = kind
		if got := strings.Count(Element(g), "waits for :") + strings.Count(Element(g), "<title> waits for "); got != want {
			t.Errorf("%d arrows with one of kind %d; want %d", got, kind, want)
		}
	}
}

// A graph that is too large is replaced with what to do, and a dense one is drawn if others
// imply most of its arrows.
func TestTooLarge(t *testing.T) {
	bipartite, dense := Graph{Nodes: make([]Node, 2000), Instead: "Use <JSON>."}, Graph{Nodes: make([]Node, 2000)}
	for from := range 1000 {
		for to := 1000; to < 2000; to++ {
			bipartite.Edges = append(bipartite.Edges, Edge{From: from, To: to})
		}
	}
	for to := range 2000 {
		for from := range to {
			dense.Edges = append(dense.Edges, Edge{From: from, To: to})
		}
	}
	for name, svg := range map[string]string{"document": Document([]Graph{bipartite}), "element": Element(bipartite)} {
		count, text := elements(t, svg)
		for _, want := range []string{"Too large for a drawing: 2000 nodes with 1000000 arrows.", "Use <JSON>."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		if count["path"] > 0 || count["rect"] > 1 {
			t.Errorf("%s: something is drawn: %v", name, count)
		}
	}
	count, text := elements(t, Element(dense))
	if want := "left out: 1997001 arrows that others imply"; count["path"] != 2*1999 || !strings.Contains(text, want) {
		t.Errorf("%d paths; %q", count["path"], want)
	}
}

// A part of a graph has no numbers of waves.
func TestHeadings(t *testing.T) {
	g := example("web")
	g.Headings = []string{}
	if _, text := elements(t, Element(g)); strings.Contains(text, "wave") {
		t.Error("a drawing without headings numbers waves")
	}
	g.Headings = []string{"first"}
	if _, text := elements(t, Element(g)); !strings.Contains(text, "old, unknown, first") || strings.Contains(text, "wave ") {
		t.Error("a column lacks its heading")
	}
}

// A name is cut in its box, and whole in its title. A name that no object can have is
// cut there, too: the drawing stays small.
func TestLongNames(t *testing.T) {
	for _, c := range []struct{ letters, most int }{{253, 4000}, {1 << 20, 8000}} {
		long := strings.Repeat("x", c.letters)
		svg := Element(Graph{Title: long, Nodes: []Node{{Lines: []string{long, long}}, {}}, Edges: []Edge{{From: 0, To: 1, Path: long}}})
		if _, text := elements(t, svg); !strings.Contains(text, strings.Repeat("x", 253)) {
			t.Errorf("the name of %d letters is nowhere", c.letters)
		}
		if len(svg) > c.most {
			t.Errorf("%d bytes for a name of %d", len(svg), c.letters)
		}
		if shown := regexp.MustCompile(`<text class="g-id"[^>]*>([^<]*)`).FindStringSubmatch(svg); len([]rune(shown[1])) > mostLetters {
			t.Errorf("the box shows %s", shown[1])
		}
	}
}

// Every class of a drawing has a rule, and the style sheet refers to nothing else.
func TestStyle(t *testing.T) {
	svg := Document([]Graph{example("web")})
	for _, m := range regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(svg, -1) {
		for class := range strings.FieldsSeq(m[1]) {
			if class != "graph" && !strings.Contains(Style, "."+class) {
				t.Errorf("no rule for .%s", class)
			}
		}
	}
	if strings.Contains(Style, "url(") || strings.Contains(Style, "@import") || strings.ContainsAny(Style, "<&") {
		t.Error("the style sheet is not self-contained, or not XML")
	}
}
