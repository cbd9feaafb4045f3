package objectdiff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// maxRenamePairs limits the pairs of one class that are compared, as the cost grows with the
// square of their number. Above it, no rename of the class is reported.
const maxRenamePairs = 10_000

// warnRenamed warns of added objects that were probably renamed: the cluster deletes the old
// object and creates a new one. Objects that a module made are alike by nature, so a removed
// and an added graph are compared as a whole; see [class.compare].
func warnRenamed(d *Diff, before []Object) {
	removed, added := unitsOf(d, Remove), unitsOf(d, Add)
	classes := classesOf(removed, added, before)
	var pairs []pairing
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		pairs = append(pairs, classes[name].pairs()...)
	}
	slices.SortStableFunc(pairs, func(p, q pairing) int {
		return cmp.Or(cmp.Compare(q.score, p.score), cmp.Compare(q.near(), p.near()))
	})
	// Each unit is paired at most once, with the one that it has the most in common with.
	taken := map[*unit]bool{}
	substitutions := map[substitution]bool{}
	for _, p := range pairs {
		if taken[p.old] || taken[p.new] {
			continue
		}
		taken[p.old], taken[p.new] = true, true
		for _, o := range p.old.objects {
			if n := counterpart(o, p.new.objects); n != nil {
				n.renamedFrom(o)
				substitutions[substitutionOf(o, n)] = true
			}
		}
	}
	warnFollowing(removed, added, taken, substitutions)
}

// warnFollowing warns of single objects that have nothing of their own, such as Services and
// claims, if the same change of a name was found in an object that has.
func warnFollowing(removed, added []*unit, taken map[*unit]bool, known map[substitution]bool) {
	if len(known) == 0 {
		return
	}
	// Comparing each removed object with each added one would take seconds for some thousands.
	type place struct{ class, namespace, name string }
	places := map[place]*unit{}
	for _, a := range added {
		if n := a.objects[0]; a.graph == "" && !taken[a] {
			places[place{a.class, n.Namespace, n.Name}] = a
		}
	}
	names := renamesOf(known)
	for _, r := range removed {
		o := r.objects[0]
		if r.graph != "" || taken[r] {
			continue
		}
		for _, name := range names.after(o) {
			a := places[place{r.class, name.namespace, name.name}]
			if a == nil || taken[a] {
				continue
			}
			n := a.objects[0]
			if known[substitutionOf(o, n)] && similarity(o.old.facts(), n.new.facts()) >= renameThreshold {
				n.renamedFrom(o)
				taken[r], taken[a] = true, true
				break
			}
		}
	}
}

// renames are known changes of names, by the old namespace and the first word of the old name.
type renames map[[2]string][]substitution

// renamesOf returns changes of names in an order that is always the same.
func renamesOf(known map[substitution]bool) renames {
	c := renames{}
	for s := range known {
		first, _, _ := strings.Cut(s.old, "-")
		key := [2]string{s.oldNamespace, first}
		c[key] = append(c[key], s)
	}
	for _, list := range c {
		slices.SortFunc(list, func(a, b substitution) int {
			return cmp.Or(cmp.Compare(a.old, b.old), cmp.Compare(a.newNamespace, b.newNamespace), cmp.Compare(a.new, b.new))
		})
	}
	return c
}

// named is a name in a namespace.
type named struct{ namespace, name string }

// after returns the names that an object may have after one of the changes.
func (c renames) after(o *ObjectDiff) []named {
	var all []named
	words := strings.Split(o.Name, "-")
	for i, first := range words {
		for _, s := range c[[2]string{o.Namespace, first}] {
			old := strings.Split(s.old, "-")
			if end := i + len(old); end <= len(words) && slices.Equal(words[i:end], old) {
				name := strings.Join(slices.Concat(words[:i], []string{s.new}, words[end:]), "-")
				all = append(all, named{s.newNamespace, name})
			}
		}
	}
	return all
}

// counterpart returns the object of a renamed graph that has the role of o: the same node, or
// else the most similar object of the kind. It is nil if there is none.
func counterpart(o *ObjectDiff, added []*ObjectDiff) *ObjectDiff {
	var best *ObjectDiff
	score := 0.5
	for _, n := range added {
		if n.Group != o.Group || n.Kind != o.Kind {
			continue
		}
		if n.new.node["id"] != nil && n.new.node["id"] == o.old.node["id"] {
			return n
		}
		if s := similarity(o.old.facts(), n.new.facts()); s >= score && (best == nil || s > score) {
			best, score = n, s
		}
	}
	return best
}

// renamedFrom adds the warning about a rename to an added object.
func (n *ObjectDiff) renamedFrom(o *ObjectDiff) {
	n.warn(RuleRenamed, "", "renamed? it is very similar to %s, which is removed%s", o.Key, startsEmpty(n))
}

// substitution is a change of a name, without the parts that stay.
type substitution struct{ oldNamespace, old, newNamespace, new string }

// substitutionOf returns the change of the name: that of web-config to front-config is web to
// front.
func substitutionOf(o, n *ObjectDiff) substitution {
	x, y := strings.Split(o.Name, "-"), strings.Split(n.Name, "-")
	for len(x) > 1 && len(y) > 1 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	for len(x) > 1 && len(y) > 1 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	return substitution{o.Namespace, strings.Join(x, "-"), n.Namespace, strings.Join(y, "-")}
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
