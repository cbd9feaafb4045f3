package controller

import (
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// objects routes observations of a graph's objects to the engine of the current
// run or, while nothing has to be done for the graph, to the snapshot of the
// last engine. Only the worker uses it.
type objects struct {
	engine   *engine.Engine   // nil unless a run has one
	snapshot *engine.Snapshot // nil unless the last run completed
	// failedLists is the number of polls that the API server couldn't answer since one that it could.
	failedLists int32
	// changed is set if an observation calls for a run.
	changed bool
	// kept are observations for the engine of the run that is about to begin.
	kept []share.Observation
	// tracked are the kinds and namespaces of the objects. Most graphs have the same few.
	tracked []unique.Handle[share.Selection]
	// polled are the selections that can't be watched, the next one first.
	polled []share.Selection
	pollAt time.Time
}

// failedAgain records that the API server failed to list objects, and reports whether that
// happened repeatedly: it may only have been busy.
func (o *objects) failedAgain() bool {
	o.failedLists++
	return o.failedLists > 1
}

// observe hands over an observation of objects. Without engine and snapshot it
// is kept if a run is about to build an engine.
func (o *objects) observe(seen share.Observation, preparing bool) {
	if seen.Type == share.Listed {
		o.failedLists = 0
	}
	switch {
	case o.engine != nil:
		o.engineObserves(seen)
	case o.snapshot != nil:
		if o.snapshotObserves(seen) {
			o.changed = true
			o.kept = append(o.kept, seen)
		}
	case preparing:
		o.kept = append(o.kept, seen)
	}
}

// contradicts reports whether a list proves that what is known about the objects is
// void.
func (o *objects) contradicts(seen share.Observation) bool {
	switch {
	case seen.Type != share.Listed:
		return false
	case o.engine != nil:
		return o.engine.Contradicts(seen.Version, seen.Objects)
	case o.snapshot != nil:
		return o.snapshot.Contradicts(seen.Version, seen.Objects)
	}
	return false
}

// judged reports whether observations are handed to an engine or a snapshot.
func (o *objects) judged() bool { return o.engine != nil || o.snapshot != nil }

func (o *objects) engineObserves(seen share.Observation) {
	switch seen.Type {
	case share.ObjectChanged:
		o.engine.Observe(seen.Object)
	case share.ObjectDeleted:
		o.engine.ObserveGone(seen.Object)
	case share.Listed:
		s := seen.Selection
		for _, namespace := range o.namespacesIn(s) {
			o.engine.ObserveAll(s.GVK.GroupKind(), namespace, s.Name, seen.Version, inNamespace(seen.Objects, namespace))
		}
	}
}

// snapshotObserves reports whether an observation calls for a run.
func (o *objects) snapshotObserves(seen share.Observation) bool {
	switch seen.Type {
	case share.ObjectChanged:
		return o.snapshot.Observe(seen.Object)
	case share.ObjectDeleted:
		return o.snapshot.ObserveGone(seen.Object)
	}
	s, changed := seen.Selection, false
	for _, namespace := range o.namespacesIn(s) {
		if o.snapshot.ObserveAll(s.GVK.GroupKind(), namespace, s.Name, seen.Version, inNamespace(seen.Objects, namespace)) {
			changed = true
		}
	}
	return changed
}

// namespacesIn returns the namespaces in which the graph has objects of a selection.
func (o *objects) namespacesIn(s share.Selection) []string {
	var namespaces []string
	for _, tracked := range o.tracked {
		t := tracked.Value()
		if t.GVK == s.GVK && (t.Namespace == s.Namespace || s.Name == "" && s.Namespace == "") {
			namespaces = append(namespaces, t.Namespace)
		}
	}
	return namespaces
}

// inNamespace returns the objects in a namespace, and cluster-scoped ones.
func inNamespace(objects []unstructured.Unstructured, namespace string) []unstructured.Unstructured {
	var in []unstructured.Unstructured
	for _, obj := range objects {
		if ns := obj.GetNamespace(); ns == namespace || ns == "" {
			in = append(in, obj)
		}
	}
	return in
}

// beginRun prepares for a run. If the goal of the graph is the one that the
// snapshot was made for, the engine of the run continues from the snapshot and
// the observations that were kept. Otherwise it reads all objects.
func (o *objects) beginRun(sameGoal bool) {
	if !sameGoal {
		o.snapshot = nil
	}
	if o.snapshot == nil {
		o.kept = nil
	}
	o.changed = false
}

// attach makes e the receiver of observations. The caller has to subscribe to
// the objects of e next, and then to call replay.
func (o *objects) attach(e *engine.Engine, resume bool) {
	if resume && o.snapshot != nil {
		// If e can't continue from the snapshot, it reads its objects.
		_ = e.Resume(o.snapshot)
	}
	o.engine, o.snapshot = e, nil
}

// replay hands the observations that were kept to the engine.
func (o *objects) replay() {
	kept := o.kept
	o.kept = nil
	for _, seen := range kept {
		o.observe(seen, false)
	}
}

// track notes the objects of the graph, and those that have to be polled.
func (o *objects) track(targets []engine.Target, polled []share.Selection) {
	o.tracked, o.polled = nil, polled
	for _, t := range targets {
		if s := unique.Make(share.Selection{GVK: share.KindOf(t), Namespace: t.Namespace}); !slices.Contains(o.tracked, s) {
			o.tracked = append(o.tracked, s)
		}
	}
}

// reread makes the engine read objects again whose events were missed. It reports
// whether the engine knew any of them.
func (o *objects) reread(missed []inventory.Key) bool {
	known := false
	for _, key := range missed {
		if o.engine != nil && o.engine.Doubt(key) {
			known = true
		}
	}
	return known
}

// doubt makes the engine read the objects of a selection that can't be listed.
func (o *objects) doubt(s share.Selection) {
	for _, t := range o.engine.Tracked() {
		if share.KindOf(t) == s.GVK && t.Namespace == s.Namespace && (s.Name == "" || t.Name == s.Name) {
			o.engine.Doubt(t.Key)
		}
	}
}

// detach ends the use of an engine that didn't complete.
func (o *objects) detach() { o.engine = nil }

// settle replaces the engine of a completed run by its snapshot.
func (o *objects) settle(s *engine.Snapshot) { o.engine, o.snapshot = nil, s }

// forget drops everything that is known about the objects.
func (o *objects) forget() { *o = objects{} }

// maxPolled is the number of selections that are read at once, in turn. One request
// reads all objects of the graph of a kind, but each object of others needs its own.
const maxPolled = 2

// due returns the selections that have to be read now, and when the next ones
// have to be, zero for never.
func (o *objects) due(now time.Time, interval time.Duration) ([]share.Selection, time.Time) {
	if len(o.polled) == 0 {
		o.pollAt = time.Time{}
		return nil, time.Time{}
	}
	if o.pollAt.IsZero() || o.pollAt.Sub(now) > interval {
		o.pollAt = now.Add(interval)
	}
	if now.Before(o.pollAt) {
		return nil, o.pollAt
	}
	o.pollAt = now.Add(interval)
	n := min(len(o.polled), maxPolled)
	due := o.polled[:n]
	o.polled = slices.Concat(o.polled[n:], due)
	return due, o.pollAt
}
