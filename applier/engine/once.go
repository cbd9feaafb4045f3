package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// Some objects do their work once: Jobs that Kubernetes removes some time after they have
// finished, and objects with mode Create. Once such an object was ready, its entry in the
// inventory is done, and its node stays ready however the object vanishes. The object is
// created again if its manifest changes, or if it vanished before it was ready.
//
// An object with mode Create that is no Job is created again nevertheless if the graph can't
// do without it: if expressions read it, or if its values were generated in the cluster.

// isJob reports whether the object of a node is a Job of Kubernetes.
func (n *node) isJob() bool { return n.GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"} }

// hasTTL reports whether the object of a node is a Job that is removed some time after it
// has finished.
func (n *node) hasTTL() bool {
	spec, _ := n.desired.object["spec"].(map[string]any)
	return n.isJob() && spec["ttlSecondsAfterFinished"] != nil
}

// once reports whether the object of a node does its work once.
func (n *node) once() bool {
	if n.policy.mode != v1alpha1.ApplyModeCreate {
		return n.hasTTL()
	}
	return n.isJob() || !n.referenced && len(n.Generates) == 0
}

// finished reports whether an observed object of a node has done its work.
func (n *node) finished(o *observation, obj *unstructured.Unstructured) bool {
	if n.isJob() {
		return readiness.JobCompleted(obj)
	}
	return n.policy.mode == v1alpha1.ApplyModeCreate && o.verdict.State == readiness.Ready
}

// noteFinished records that the object of a node was observed to have done its work, if it
// is the one that the graph applied.
func (e *Engine) noteFinished(n *node, seen *observation) {
	entry := e.ledger.entries[n.key]
	if !seen.finished || entry.Done || entry.UID != seen.uid || entry.Desired == "" {
		return
	}
	entry.Done = true
	e.ledger.entries[n.key] = entry
	// It may be removed at any time, also while no process observes it.
	e.ledger.finished = e.ledger.finished || n.hasTTL() && e.opts.Mode == ModeApply
}

// done reports whether the object of a node has done its work as desired, and is removed or
// being removed.
func (e *Engine) done(n *node, seen *observation) bool {
	entry := e.ledger.entries[n.key]
	return (seen.absent || seen.deleting) && entry.Done && entry.Desired == n.desired.digest && n.once()
}

// removedText describes why the object of a node that is done doesn't exist.
func (n *node) removedText() string {
	switch {
	case n.hasTTL():
		return "done (removed after its TTL)"
	case n.isJob():
		return "done (removed after it was complete)"
	}
	return "done (removed after it was created)"
}

// withoutSource handles a node whose references can't be resolved because an object that
// they read is done and removed. The node stays as it is if it is as it was when the graph was
// complete. It reports whether there is such an object.
func (e *Engine) withoutSource(n *node, seen *observation) bool {
	for _, m := range n.needs {
		source := e.cache.objects[m.key]
		if !m.referenced || source == nil || !e.done(m, source) {
			continue
		}
		entry, saved := e.ledger.entries[n.key], e.ledger.saved
		if saved.Complete && saved.Revision == e.revision && e.owns(n.key, seen) && !seen.absent && entry.Live == seen.live {
			e.reportUnchanged(n, seen)
		} else {
			n.wait("reads " + m.ID + ", which is " + m.removedText() + ": change " + m.ID + " to run it again, or keep its object")
		}
		return true
	}
	return false
}
