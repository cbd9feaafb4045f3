// Package graphview shows ResourceGraphs to people and to other programs: as a
// tree of text, as Mermaid, as Graphviz DOT, and as JSON.
//
// [Write] is the entry point. Arrows lead from what comes first to what waits
// for it. The same graphs give the same bytes; whatever names hold, the result
// stays valid in its language. The package checks nothing: a graph should have
// passed graph.Check, and one without an order is an error.
package graphview
