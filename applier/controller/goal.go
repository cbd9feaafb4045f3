package controller

import (
	"encoding/json"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
)

// seenGraph is the part of a graph that the controller reacts to. It is kept for
// every graph, unlike the graph itself, which may be large.
type seenGraph struct {
	uid        types.UID
	generation int64
	requested  string // the annotation that asks for a reconciliation
	deleting   bool
	finalizer  bool // the applier's finalizer is on the graph
	suspended  bool // by its spec, or paused by a label
	// spec is the digest of the spec. It changes with the generation, unless the
	// history of the cluster was rewritten.
	spec uint64
}

func seenGraphOf(rg *v1alpha1.ResourceGraph) seenGraph {
	return seenGraph{
		uid: rg.UID, generation: rg.Generation, deleting: rg.DeletionTimestamp != nil, finalizer: graphs.HasFinalizer(rg),
		suspended: rg.Spec.Suspend || rg.Labels[v1alpha1.LabelPaused] == "true",
		requested: v1alpha1.RequestedAt(rg.Annotations),
	}
}

var digestSeed = maphash.MakeSeed()

// digestOf returns a digest of a spec that is valid in this process.
func digestOf(spec *v1alpha1.ResourceGraphSpec) uint64 {
	raw, err := json.Marshal(spec)
	if err != nil {
		return 0 // can't happen: the spec was decoded from JSON
	}
	return maphash.Bytes(digestSeed, raw)
}

// goal describes the work to do for one state of a graph. When it changes, the
// current run ends and another one begins.
type goal struct {
	verb       verb
	uid        types.UID
	generation int64
	spec       uint64 // digest of the spec
	requested  string
	restarts   int   // distinguishes runs that begin again without a new request
	epoch      int64 // of the cluster's history, see [share.Share.Epoch]
}

// verb is the kind of work.
type verb string

const (
	verbExecute verb = "execute"
	verbDelete  verb = "delete"  // delete the objects, then the graph
	verbOrphan  verb = "orphan"  // orphan the objects, then delete the graph
	verbSuspend verb = "suspend" // leave everything as it is
	verbClean   verb = "clean"   // delete the objects of a graph that doesn't exist any more
	verbNone    verb = ""        // the graph is being deleted, and the applier is done with it
)

// goalOf derives the goal from the state of a graph. Restarts is the number of
// runs that had to begin again so far.
func goalOf(s seenGraph, restarts int) goal {
	g := goal{uid: s.uid, generation: s.generation, spec: s.spec, requested: s.requested, restarts: restarts}
	switch {
	case s.deleting && !s.finalizer:
		g.verb = verbNone
	case s.deleting && s.suspended:
		g.verb = verbOrphan
	case s.deleting:
		g.verb = verbDelete
	case s.suspended:
		g.verb = verbSuspend
	default:
		g.verb = verbExecute
	}
	if g.verb == verbDelete || g.verb == verbOrphan {
		g.generation, g.spec = 0, 0 // the spec doesn't matter any more
	}
	return g
}

// sameRequest reports whether users ask for the same with two goals: they may
// differ in the number of restarts.
func (g goal) sameRequest(other goal) bool {
	g.restarts = other.restarts
	return g == other
}
