package graphview

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/page"
)

// drawing returns the graph as package drawing takes it.
func (v view) drawing() drawing.Graph {
	d := drawing.Graph{Title: v.title(), Instead: instead}
	for _, n := range v.Nodes {
		d.Nodes = append(d.Nodes, drawing.Node{Lines: n.label(), External: n.External})
	}
	for _, e := range v.Edges {
		d.Edges = append(d.Edges, drawing.Edge{From: v.byID[e.Needs], To: v.byID[e.Node], Kind: drawing.KindOf(e.Kind), Path: e.Path})
	}
	return d
}

// writeSVG writes one document with all graphs.
func writeSVG(b *strings.Builder, views []view) {
	graphs := make([]drawing.Graph, len(views))
	for i, v := range views {
		graphs[i] = v.drawing()
	}
	b.WriteString(drawing.Document(graphs))
}

//go:embed page.html
var pageTemplate string

// writeHTML writes a page with a drawing of each graph, and its nodes as a table for
// those who can't see the drawing or want to copy from it.
func writeHTML(w io.Writer, views []view) error {
	functions := template.FuncMap{
		"drawing": func(v view) template.HTML { return template.HTML(drawing.Element(v.drawing())) },
		"title":   func(v view) string { return source.Escape(v.title(), "") },
		"shown":   func(s string) string { return source.Escape(s, "") },
		"object":  func(n node) string { return source.Escape(n.object, "") },
		"traits":  func(n node) string { return source.Escape(strings.Join(n.traits(), ", "), "") },
		"needs": func(v view) map[string][]string {
			return v.needs(func(e edge) string {
				if e.Path == "" {
					return source.Escape(e.Needs+suffix(e.Kind), "")
				}
				return source.Escape(fmt.Sprintf("%s%s in %s", e.Needs, suffix(e.Kind), e.Path), "")
			})
		},
		"count": func(n int, noun string) string { return source.Count(n, noun) },
	}
	t, err := template.New("graphs").Funcs(functions).Parse(pageTemplate)
	if err != nil {
		return err
	}
	title := source.Count(len(views), "graph")
	if len(views) == 1 {
		title = "Graph " + views[0].Name
	}
	var body strings.Builder
	if err := t.Execute(&body, struct {
		Title string
		Views []view
	}{source.Escape(title, ""), views}); err != nil {
		return err
	}
	return page.Write(w, page.Page{Title: source.Escape(title, ""), Style: drawing.Style, Body: template.HTML(body.String())})
}
