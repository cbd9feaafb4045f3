// Package statusview shows how graphs are: [WriteTree] as a tree of waves and
// nodes, [WriteDOT] as a drawing, and [NewReport] as data for JSON and YAML.
//
// It shows what the applier found out, and asks nobody.
package statusview
