// Package generate encodes the objects that commands generate from instances and
// platforms, in the same way for stdout, a directory and a bundle:
//
//   - instances.go: ResourceGraphs, or plain manifests
//   - crds.go: CRDs of platforms
//   - roles.go: roles for graphs, and the flags that they depend on
//
// Rendering is in package render, reading of the input in cli/input. The package
// writes nothing; see cli/output.
package generate
