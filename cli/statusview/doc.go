// Package statusview shows the state of graphs: [TreeText] as a tree of waves
// and nodes, [WriteDOT] as a drawing, and [NewReport] as data for JSON and YAML.
// The first two print the [Report] that NewReport returns. [TableTexts] lists Actions, Monitors and
// Receivers, and [DetailText] shows all about some of them. A tree reads:
//
//	shop/web: not ready, 1 of 2 ready
//	wave 1
//	└── db   StatefulSet/web-db  ready
//	wave 2
//	└── app  Deployment/web      progressing  Available: 0/3
//
// It shows the states that the applier has read, and reads nothing from the
// cluster itself. It does not watch: package progress shows states that change.
package statusview
