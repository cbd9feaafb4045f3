// Package layout places the nodes of a directed graph in layers, from left to
// right, and routes the edges between them.
//
// [Place] is the entry point. It follows the method of Sugiyama, Tagawa and Toda:
// every node gets a layer (layers.go), edges that span several layers are cut by
// waypoints, the nodes of each layer are ordered so that few edges cross
// (order.go), and coordinates are assigned so that edges are short and straight
// (coordinates.go). [Graph.Reduced] finds the edges that need no arrow because others
// imply them (reduce.go). The same graph yields the same coordinates on every machine.
//
// The package draws nothing and knows no Kubernetes: package drawing does.
package layout
