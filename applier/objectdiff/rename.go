package objectdiff

import "github.com/pequod-io/pequod/internal/jsonvalue"

// renameThreshold is the similarity from which a removed and an added object of
// one kind are reported as a rename. Renamed objects usually share all but a few
// facts. Objects of one kind that are only written in the same style share less.
const renameThreshold = 0.8

// maxRenamePairs limits the pairs of objects of one kind that are compared, as the
// cost grows with the square of their number. Above it, no rename is reported.
const maxRenamePairs = 10_000

// warnRenamed warns of added objects that are very similar to a removed one: the
// author probably renamed it, but the cluster deletes the old object and creates
// a new one. Graphs are left out, because their objects are compared one by one.
func warnRenamed(d *Diff) {
	type groupKind struct{ group, kind string }
	removed, added := map[groupKind][]*ObjectDiff{}, map[groupKind][]*ObjectDiff{}
	var kinds []groupKind
	for i := range d.Objects {
		o := &d.Objects[i]
		k := groupKind{o.Group, o.Kind}
		switch o.Action {
		case Remove:
			if removed[k] == nil {
				kinds = append(kinds, k)
			}
			removed[k] = append(removed[k], o)
		case Add:
			added[k] = append(added[k], o)
		}
	}
	for _, k := range kinds {
		if k.kind == "ResourceGraph" || len(removed[k])*len(added[k]) > maxRenamePairs {
			continue
		}
		// The facts of each added object are needed once per removed object.
		var addedFacts [][]fact
		for _, n := range added[k] {
			addedFacts = append(addedFacts, n.new.facts())
		}
		// Each added object is paired at most once, with the first removed object that it
		// is the most similar to.
		paired := map[*ObjectDiff]bool{}
		for _, o := range removed[k] {
			old := o.old.facts()
			best, score := -1, renameThreshold
			for i, n := range added[k] {
				if s := similarity(old, addedFacts[i]); !paired[n] && s >= score && (best < 0 || s > score) {
					best, score = i, s
				}
			}
			if best < 0 {
				continue
			}
			n := added[k][best]
			paired[n] = true
			n.warn(RuleRenamed, "", "renamed? it is very similar to %s, which is removed%s", o.Key, startsEmpty(n))
		}
	}
}

// startsEmpty returns a note for kinds that store data: a new object does not get
// the data of the old one.
func startsEmpty(n *ObjectDiff) string {
	switch {
	case n.is("", "PersistentVolumeClaim"):
		return ": the new one starts empty"
	case n.is("apps", "StatefulSet") && jsonvalue.Field(n.new.body, "spec", "volumeClaimTemplates") != nil:
		return ": the new one starts empty, with volumes of its own"
	case n.is("apps", "StatefulSet"):
		return ": the new one starts empty"
	}
	return ""
}
