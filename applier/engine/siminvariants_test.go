package engine_test

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// check checks the invariants of a requested action.
func (r *run) check(a engine.Action) {
	switch a.Verb {
	case engine.Apply:
		r.checkOnce(a)
		r.checkIntent(a)
		r.checkNeeds(a)
		r.checkSeen(a)
	case engine.Delete, engine.Release:
		r.checkIntent(a)
		if a.UID == "" {
			r.s.fail("%s: %s of %s without its UID", r.id(), a.Verb, a.Key)
		}
		r.checkKept(a)
	}
}

// checkOnce checks that an object that did its work isn't created again for the same manifest.
func (r *run) checkOnce(a engine.Action) {
	digest, err := fields.Digest(a.Apply.Object)
	if err != nil {
		r.s.fail("%s: %v", r.id(), err)
	}
	if r.stored == nil || a.Apply.UID != "" || a.Key.Kind != "Job" {
		return
	}
	for _, e := range r.stored.Entries {
		if e.Key == a.Key && e.Done && e.Desired == digest {
			r.s.fail("%s: runs %s again", r.id(), a.Key)
		}
	}
}

// isDone reports whether the inventory records that an object did its work. The object may be gone.
func (r *run) isDone(key inventory.Key) bool {
	return r.engine != nil && slices.ContainsFunc(r.engine.Inventory().Entries, func(e inventory.Entry) bool { return e.Key == key && e.Done })
}

// checkKept checks that an object that was annotated to be kept in the version that was
// judged isn't deleted, and that the annotation is named if it is released for it.
func (r *run) checkKept(a engine.Action) {
	judged := r.s.cluster.history[a.ResourceVersion]
	if judged == nil {
		r.s.fail("%s: %s of %s, which was never at version %q", r.id(), a.Verb, a.Key, a.ResourceVersion)
	}
	kept := len(judged.GetAnnotations()) > 0
	if kept && a.Verb == engine.Delete || a.Kept != "" && !kept {
		r.s.fail("%s: %s of %s, which is annotated: %v", r.id(), a.Verb, a.Key, judged.GetAnnotations())
	}
}

// checkIntent checks that the stored inventory lists a written object, with the
// revision of the graph.
func (r *run) checkIntent(a engine.Action) {
	if r.stored == nil {
		if r.options.NeverApplied && r.options.IntentImplied {
			return // the next engine searches for the graph's objects
		}
		r.s.fail("%s: %s of %s, and no inventory is recorded", r.id(), a.Verb, a.Key)
	}
	if !r.removed && r.stored.Revision != r.rg.Spec.RenderHash {
		r.s.fail("%s: %s of %s, and the inventory is that of another revision", r.id(), a.Verb, a.Key)
	}
	for _, n := range r.running.nodes {
		if !r.removed && r.scoped[keyOf(n.name).Kind+"/"+n.apiVersion()] && !r.lists(keyOf(n.name)) {
			r.s.fail("%s: %s of %s, and the inventory doesn't list %s", r.id(), a.Verb, a.Key, n.name)
		}
	}
	if i := r.running.index(a.Key.Name); !r.removed && i >= 0 && !r.scoped[a.Key.Kind+"/"+r.running.nodes[i].apiVersion()] {
		r.s.fail("%s: %s of %s, whose scope isn't known", r.id(), a.Verb, a.Key)
	}
	if !r.lists(a.Key) {
		r.s.fail("%s: %s of %s, which the inventory doesn't list", r.id(), a.Verb, a.Key)
	}
}

func (r *run) lists(key inventory.Key) bool {
	return r.stored != nil && slices.ContainsFunc(r.stored.Entries, func(e inventory.Entry) bool { return e.Key == key })
}

// checkNeeds checks that the dependencies of an applied node are ready as desired, or
// were so shortly before others changed them.
func (r *run) checkNeeds(a engine.Action) {
	i := r.running.index(a.Key.Name)
	if i < 0 {
		r.s.fail("%s: Apply of %s, which isn't in the graph", r.id(), a.Key)
	}
	for _, need := range r.running.nodes[i].allNeeds() {
		good, ok := r.good[keyOf(need)]
		if r.isDone(keyOf(need)) {
			continue
		}
		if !ok || r.s.now.Sub(good) > 2*longest && !r.s.meddled[keyOf(need)].After(good.Add(-longest)) {
			o := r.s.cluster.objects[keyOf(need)]
			r.s.fail("%s: Apply of %s, which needs %s, last ready %v ago: %+v %v", r.id(), a.Key, need, r.s.now.Sub(good), o, r.running.nodes[r.running.index(need)])
		}
	}
}

// checkSeen checks that the observed object belonged to the graph or may be adopted.
func (r *run) checkSeen(a engine.Action) {
	n := r.running.nodes[r.running.index(a.Key.Name)]
	if a.Apply.UID == "" {
		return
	}
	if n.create {
		r.s.fail("%s: Apply over %s, which is to be created only", r.id(), a.Key)
	}
	obj := r.s.cluster.history[a.Apply.Version]
	if obj == nil || obj.GetUID() != a.Apply.UID {
		r.s.fail("%s: Apply over %s %s at version %s: there is no such", r.id(), a.Key, a.Apply.UID, a.Apply.Version)
	}
	owner, owned := inventory.OwnerOf(obj.GetLabels())
	listed := slices.Contains(r.running.adopt, n.name)
	known := slices.ContainsFunc(r.engine.Inventory().Entries, func(e inventory.Entry) bool { return e.Key == a.Key && e.UID == obj.GetUID() })
	switch {
	case owned && owner == r.owner, listed, !owned && n.adopt, !owned && known:
	default:
		r.s.fail("%s: Apply over %s, which is of %q and not to be taken", r.id(), a.Key, owner)
	}
}

// checkWrite checks that a written object belongs to the graph, did so when it was
// observed, or may be adopted.
func (r *run) checkWrite(a engine.Action, o *object, alive bool) {
	if !alive {
		return
	}
	if o.labels()["example.com/stranger"] != "" && !slices.Contains(r.running.adopt, a.Key.Name) {
		if n := r.running.index(a.Key.Name); n < 0 || !r.running.nodes[n].adopt {
			r.s.fail("%s: writes to a stranger's %s", r.id(), a.Key)
		}
	}
}

// handOverTime is the maximum age of the claims of other graphs.
const handOverTime = 30 * time.Second

// checkRemoval checks that a deleted object belongs to the graph, left it or is
// recreated, is listed by no other graph, and has no dependents left.
func (r *run) checkRemoval(a engine.Action, o *object, alive bool) {
	if owner, _ := inventory.OwnerOf(o.labels()); a.Node == "" && owner != r.owner {
		r.s.fail("%s: deletes %s of %q", r.id(), a.Key, owner)
	}
	if o.labels()["example.com/stranger"] != "" && !r.everAdopted[a.Key] {
		r.s.fail("%s: deletes a stranger's %s", r.id(), a.Key)
	}
	if !alive {
		return // a crashed process sent it, maybe for the other graph
	}
	i := r.running.index(a.Key.Name)
	if !r.removed && i >= 0 && a.Node == "" {
		r.s.fail("%s: prunes %s, which is in the graph", r.id(), a.Key)
	}
	if a.Node != "" {
		if i < 0 || !r.running.nodes[i].recreate {
			r.s.fail("%s: recreates %s, which must not be recreated", r.id(), a.Key)
		}
		return
	}
	left := r.s.now.Sub(r.ran[a.Key])
	if !r.removed && left < r.options.PruneGrace-time.Second && r.ran[a.Key].After(r.excused) {
		r.s.fail("%s: prunes %s, which left the graph %v ago", r.id(), a.Key, left)
	}
	for _, other := range r.s.runs {
		if since, ok := other.listed[a.Key]; other != r && ok && r.s.now.Sub(since) > handOverTime {
			r.s.fail("%s: deletes %s, which %s lists for %v", r.id(), a.Key, other.id(), r.s.now.Sub(since))
		}
	}
	mine := r.last[a.Key]
	for key, other := range r.last {
		there := r.s.cluster.objects[key]
		if there == nil || there.labels()["example.com/copy"] != "" || other.epoch != mine.epoch || !slices.Contains(other.allNeeds(), a.Key.Name) || r.reordered {
			continue
		}
		if owner, _ := inventory.OwnerOf(there.labels()); owner == r.owner && (r.removed || r.running.index(key.Name) < 0) && !other.orphan && r.lists(key) {
			r.s.fail("%s: deletes %s before %s, which needs it", r.id(), a.Key, key)
		}
	}
}

// noteGraph records which objects a graph may adopt.
func (r *run) noteGraph() {
	if r.removed {
		return
	}
	for _, n := range r.running.nodes {
		if slices.Contains(r.running.adopt, n.name) || n.adopt {
			r.everAdopted[keyOf(n.name)] = true
		}
	}
	for key := range r.good {
		delete(r.good, key)
	}
	r.noteGood()
}

type lastPlanned struct {
	planned
	epoch int
}

// noteGood records when each object was last ready as desired.
func (r *run) noteGood() {
	if r.engine == nil || r.removed {
		return
	}
	for _, n := range r.running.nodes {
		o := r.s.cluster.objects[keyOf(n.name)]
		if !o.good() {
			continue
		}
		n.reads = "" // the source may have changed without the engine knowing it yet
		if owner, _ := inventory.OwnerOf(o.labels()); !n.create && (owner != r.owner || n.holds(r.s.cluster, o) != nil) {
			continue
		}
		r.good[keyOf(n.name)] = r.s.now
	}
}

// noteWrite records a write to an object that the other graph lists as an outside
// change.
func (r *run) noteWrite(key inventory.Key) {
	for _, other := range r.s.runs {
		if other != r && other.running.index(key.Name) >= 0 {
			r.s.meddled[key] = r.s.now
		}
	}
}

// noteListed records since when the inventory has its entries, and the last node of
// each.
func (r *run) noteListed() {
	if r.stored != nil && !r.removed && r.stored.Revision == r.rg.Spec.RenderHash {
		for _, n := range r.running.nodes {
			r.last[keyOf(n.name)] = lastPlanned{n, r.epoch}
		}
	}
	listed := map[inventory.Key]time.Time{}
	if r.stored != nil {
		for _, e := range r.stored.Entries {
			if e.Node == "" {
				continue // it left the graph
			}
			listed[e.Key] = r.s.now
			if since, ok := r.listed[e.Key]; ok {
				listed[e.Key] = since
			}
		}
	}
	r.listed = listed
}

// checkEnd checks that the cluster contains exactly the desired objects of the graphs.
func (s *sim) checkEnd() {
	for _, r := range s.runs {
		for _, n := range r.running.nodes {
			o := s.cluster.objects[keyOf(n.name)]
			if r.removed || (o == nil || o.deleting) && r.isDone(keyOf(n.name)) {
				continue
			}
			switch {
			case o == nil:
				s.fail("%s: %s is missing", r.id(), n.name)
			case !o.good():
				s.fail("%s: %s isn't ready", r.id(), n.name)
			case n.create:
				continue
			}
			if err := n.holds(s.cluster, o); err != nil {
				s.fail("%s: %v", r.id(), err)
			}
			if owner, _ := inventory.OwnerOf(o.labels()); owner != r.owner {
				s.fail("%s: %s is of %q", r.id(), n.name, owner)
			}
		}
		r.checkInventory()
	}
	for key, o := range s.cluster.objects {
		for _, r := range s.runs {
			listed := !r.removed && r.running.index(key.Name) >= 0
			if r.owner.Owns(o.labels()) && !listed && !r.lost && !s.dropped[key] && o.labels()["example.com/copy"] == "" {
				s.fail("%s: %s is left over", r.id(), key)
			}
		}
		if o.labels()["example.com/copy"] != "" && len(o.managers["pequod"]) > 0 {
			s.fail("%s, a stranger's copy, was written", key)
		}
	}
}

// checkInventory checks that the inventory lists exactly the graph's objects, with
// their UIDs.
func (r *run) checkInventory() {
	want := 0
	if !r.removed {
		want = len(r.running.nodes)
	}
	if r.stored == nil {
		if want > 0 {
			r.s.fail("%s: the inventory is missing", r.id())
		}
		return
	}
	if !r.stored.Complete || !r.removed && r.stored.Revision != r.rg.Spec.RenderHash {
		r.s.fail("%s: the inventory isn't complete", r.id())
	}
	if len(r.stored.Entries) != want {
		r.s.fail("%s: the inventory has %d entries, the graph %d nodes: %v", r.id(), len(r.stored.Entries), want, r.stored.Entries)
	}
	for _, e := range r.stored.Entries {
		i := r.running.index(e.Name)
		o := r.s.cluster.objects[e.Key]
		owned := o != nil && r.owner.Owns(o.labels()) && o.labels()["example.com/copy"] == ""
		if i < 0 || owned && e.UID != o.uid {
			r.s.fail("%s: the inventory has %s with UID %q; the object has %q", r.id(), e.Key, e.UID, o.uid)
		}
		if r.running.nodes[i].id != e.Node {
			r.s.fail("%s: the inventory has %s as %s, not %s", r.id(), e.Key, e.Node, r.running.nodes[i].id)
		}
	}
}
