// Package statusview shows the state of graphs: [WriteTree] as a tree of waves and
// nodes, [WriteDOT] as a drawing, and [NewReport] as data for JSON and YAML.
//
// It shows the states that the applier has read, and reads nothing from the
// cluster itself.
package statusview
