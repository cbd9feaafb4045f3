// Package sides renders the two sides of a review.
//
//   - checkout.go: the files of a commit in a temporary directory; fill.go writes those that are read
//   - render.go: one side as a review.Tree, with everything that fails in it
//   - reuse.go: what is equal on both sides is rendered once
//   - plain.go: documents that are no instances
//   - inputs.go, modules.go, locks.go: the modules, policies and settings that differ
//   - fields.go: the changed fields of instances' documents
//   - lines.go: the lines of modules that set the changed fields of objects
//   - tool.go: a side that another version of the program renders
//
// The entry points are [Open], [Render] and [Inputs]. An instance or a module that fails
// never ends a review: it is part of the tree, as something unknown.
package sides
