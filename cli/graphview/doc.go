// Package graphview shows ResourceGraphs to people and to other programs: as a
// tree of text, as Mermaid, as Graphviz DOT, and as JSON.
//
// [Write] is the entry point. It makes a view of each graph, which all formats
// print; each format has a file of its own. Arrows lead from a node to those that
// depend on it. The same graphs yield the same bytes, and the output is valid in
// its language with any characters in names.
//
// The package does not validate graphs: they should have passed graph.Check. A
// graph whose dependencies form a cycle is an error.
package graphview
