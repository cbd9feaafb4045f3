// Package drawing draws graphs as SVG: as documents of their own, and as elements
// of HTML pages.
//
// [Document] and [Element] are the entry points. Both take a [Graph], which package
// layout places from left to right: the columns are waves, and arrows lead from a
// node to those that wait for it. An arrow that others imply is left out: if b waits for
// a, and c for b, then c waits for a, too. A drawing that would have more than
// [layout.MaxSteps] steps is replaced with a sentence. A mark of a node is text, a shape and a color, so
// that nothing depends on colors alone. A drawing has light and dark colors, and
// every node has an accessible name with all that its box shows.
//
// A drawing has no scripts, no references and no inline styles, so a page with a
// strict Content-Security-Policy can contain it; the page needs [Style]. Text may
// have any characters.
package drawing
