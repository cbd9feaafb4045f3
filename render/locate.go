package render

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
)

// NodeField is a field of a node in a graph. The path begins at the node, as in a
// [problem.Problem], such as resource.spec.replicas.
type NodeField struct{ Node, Path string }

// Locate returns the positions at which the module of a valid instance sets fields: where a
// value is written, or else the innermost struct or list around it. It renders the instance
// again, because a [Result] keeps no values of CUE. The positions are parallel to fields; all
// of them are zero if the instance isn't valid.
func (r *Renderer) Locate(in *Instance, p *Platform, fields []NodeField) []problem.Position {
	found := make([]problem.Position, len(fields))
	b := r.module(p.Module)
	v, problems := b.evaluate(b.dataOf(in, p), p, in.Version())
	if problems.Failed() {
		return found
	}
	d := &decoder{instance: in.File}
	d.graph(v.LookupPath(cue.MakePath(cue.Str("output"))))
	for i, f := range fields {
		found[i] = d.positionOf(f.Node, f.Path)
	}
	return found
}
