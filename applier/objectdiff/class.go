package objectdiff

import "slices"

// renameThreshold is the share of what two units have in common from which they are reported
// as one that was renamed.
const renameThreshold = 0.8

// minorWeight is the weight of facts that don't identify an application, such as its ports and
// its number of Pods. A rename often changes one of them as well.
const minorWeight = 0.25

// class has the units of one class. Facts that many of them share come from their module or
// from a habit, and say nothing about two of them.
type class struct {
	removed, added []*unit
	// units is the number of all units, those that stay included. texts and nameless count
	// the units that have a fact.
	units           int
	texts, nameless map[string]int
}

// classesOf returns the classes that have removed and added units.
func classesOf(removed, added []*unit, before []Object) map[string]*class {
	all := map[string]*class{}
	for _, u := range removed {
		if all[u.class] == nil {
			all[u.class] = &class{texts: map[string]int{}, nameless: map[string]int{}}
		}
		all[u.class].removed = append(all[u.class].removed, u)
	}
	for _, u := range added {
		if c := all[u.class]; c != nil {
			c.added = append(c.added, u)
		}
	}
	gone := map[Key]bool{}
	for name, c := range all {
		if c.added == nil {
			delete(all, name)
		}
		for _, u := range c.removed {
			for _, o := range u.objects {
				gone[o.Key] = true
			}
		}
	}
	if len(all) == 0 {
		return all
	}
	for _, u := range slices.Concat(removed, added, staying(all, before, gone)) {
		if c := all[u.class]; c != nil {
			c.count(u)
		}
	}
	return all
}

// staying returns the units of the classes that are not removed.
func staying(classes map[string]*class, before []Object, gone map[Key]bool) []*unit {
	graphs := map[string]*unit{}
	var all []*unit
	for i := range before {
		o := &before[i]
		if gone[o.Key] || o.isGraph() {
			continue
		}
		if classes[classOf(o, false)] != nil {
			u := newUnit(o, false)
			u.add(o)
			all = append(all, u)
		}
		if o.graph == "" || classes[classOf(o, true)] == nil {
			continue
		}
		u := graphs[o.graph]
		if u == nil {
			u = newUnit(o, true)
			graphs[o.graph] = u
			all = append(all, u)
		}
		u.add(o)
	}
	return all
}

// count counts the facts of a unit.
func (c *class) count(u *unit) {
	c.units++
	for text := range u.texts {
		c.texts[text]++
	}
	for text := range u.nameless {
		c.nameless[text]++
	}
}

// pairing is a removed and an added unit that are probably one.
type pairing struct {
	old, new *unit
	score    float64
}

// near is 1 if both units are in one namespace. It decides between units that are equal.
func (p pairing) near() int {
	if p.old.objects[0].Namespace == p.new.objects[0].Namespace {
		return 1
	}
	return 0
}

// pairs returns the pairs of the class that are probably one unit. Only those are compared
// that share a fact that identifies them.
func (c *class) pairs() []pairing {
	index := map[string][]*unit{}
	for _, a := range c.added {
		for _, f := range a.facts {
			if f.identifies {
				index[f.text] = append(index[f.text], a)
			}
		}
	}
	var found []pairing
	compared := 0
	for _, r := range c.removed {
		seen := map[*unit]bool{}
		for _, f := range r.facts {
			if !f.identifies || weight(c.texts, f.text, 2, c.units-2) < 0.5 {
				continue
			}
			for _, a := range index[f.text] {
				if seen[a] {
					continue
				}
				seen[a] = true
				if compared++; compared > maxRenamePairs {
					return nil
				}
				if score := c.compare(r, a); score >= renameThreshold {
					found = append(found, pairing{r, a, score})
				}
			}
		}
	}
	return found
}

// compare returns the share of what r and a have in common, from 0 to 1. A fact weighs as much
// as it is rare among the other units of the class: what all share is boilerplate. A fact that
// differs only by the names counts neither as common nor as different.
//
// Without other units, nothing tells the facts of a module from those of its instances. Then
// only equal units, apart from their names, have anything in common.
func (c *class) compare(r, a *unit) float64 {
	others := c.units - 2
	var common, different float64
	for _, side := range [][2]*unit{{r, a}, {a, r}} {
		for _, f := range side[0].facts {
			w := minorWeight
			if f.identifies {
				w = 1
			}
			switch {
			case side[1].texts[f.text]:
				common += w * weight(c.texts, f.text, 2, others)
			case !side[1].nameless[f.nameless]:
				different += w * weight(c.nameless, f.nameless, 1, others)
			}
		}
	}
	if common == 0 || r.made && others == 0 && different > 0 {
		return 0
	}
	return common / (common + different)
}

// weight returns the share of the other units that lack a fact. own is the number of units of
// the pair that have it.
func weight(counts map[string]int, text string, own, others int) float64 {
	if others <= 0 {
		return 1
	}
	return 1 - float64(max(0, counts[text]-own))/float64(others)
}
