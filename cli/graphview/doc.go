// Package graphview shows ResourceGraphs to people and to other programs: as a
// tree of text, as Mermaid, as Graphviz DOT, as a drawing in SVG or HTML, and as
// JSON.
//
// [Write] is the entry point. It makes a view of each graph (view.go), which all
// formats print; each format has a file of its own (tree.go, mermaid.go, dot.go,
// drawing.go). Arrows lead from a node to those that depend on it. All formats
// but JSON leave out the arrows that others imply: if b waits for a, and c for b, then
// c waits for a, too. A graph with too many arrows for a drawing is replaced with a
// sentence in SVG, HTML, Mermaid and DOT. The same graphs
// yield the same bytes, and the output is valid in its language with any
// characters in names. A tree reads:
//
//	web (WebService shop/web): 2 nodes, 2 waves
//	wave 1
//	└── db  StatefulSet/web-db  ready: kstatus
//	wave 2
//	└── app  Deployment/web  ready: kstatus  ← db ($from)
//
// The package does not validate graphs: they should have passed graph.Check. A
// graph whose dependencies form a cycle is an error. It shows graphs as they are
// written, not their state in a cluster: that is the task of package statusview.
package graphview
