package forecast

import (
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// UnknownReason is the reason of [Unknown] for fields without a rule.
const UnknownReason = "the controller of the kind decides"

// Of returns the consequences of a diff per object, the most severe first. before and
// after are all objects of both sides: those that don't change count, too. An object
// that is added and harms nothing has no consequences.
func Of(d objectdiff.Diff, before, after []objectdiff.Object) map[objectdiff.Key][]Consequence {
	return Rules().Of(d, before, after)
}

// OfLive returns the consequences of a diff of objectdiff.CompareLive, as Of does;
// objectdiff.LiveSides returns its sides. The dry run of the API server has decided what
// is refused, except for objects that it couldn't check. used is the use of live quotas, nil if it isn't known.
func OfLive(d objectdiff.Diff, before, after []objectdiff.Object, used Used) map[objectdiff.Key][]Consequence {
	return Rules().of(d, before, after, &live{used: used})
}

// Of is [Of] with the rules of t.
func (t Table) Of(d objectdiff.Diff, before, after []objectdiff.Object) map[objectdiff.Key][]Consequence {
	return t.of(d, before, after, nil)
}

// of returns the consequences of a diff. live is nil unless it is the diff of a dry run.
func (t Table) of(d objectdiff.Diff, before, after []objectdiff.Object, live *live) map[objectdiff.Key][]Consequence {
	s := &sides{live: live, before: newTree(before), after: newTree(after), changed: map[objectdiff.Key]*objectdiff.ObjectDiff{}}
	for i := range d.Objects {
		s.changed[d.Objects[i].Key] = &d.Objects[i]
	}
	found := map[objectdiff.Key][]Consequence{}
	for i := range d.Objects {
		o := &d.Objects[i]
		if all := t.object(s, o); len(all) > 0 {
			found[o.Key] = all
		}
	}
	return found
}

// object returns the consequences of the change of one object.
func (t Table) object(s *sides, o *objectdiff.ObjectDiff) []Consequence {
	var c collector
	whole := &subject{sides: s, diff: o}
	if o.Action == objectdiff.Modify {
		for _, change := range o.Changes {
			for _, l := range leaves(change) {
				t.leaf(&c, &subject{sides: s, diff: o, leaf: l})
			}
		}
	} else if r, d, ok := t.first(kindOf(o.Key), "", whole); ok && !(o.Action == objectdiff.Remove && o.Old().Stays()) {
		if r.Effect.Restarts() && d.pods == 0 && !d.allNodes {
			d = whole.pods()
		}
		c.add(r, d, "")
	}
	// These hold in addition, for objects of every kind.
	for _, r := range t {
		if r.Kind == "*" && r.Field == "" {
			if d, ok := meets(whole, r.When); ok {
				c.add(r, d, "")
			}
		}
	}
	if s.live == nil {
		c.refused(o)
	}
	return c.sorted()
}

// refused adds the refusals that the comparison has found.
func (c *collector) refused(o *objectdiff.ObjectDiff) {
	for _, w := range o.Warnings {
		if w.Rule == objectdiff.RuleRefused {
			c.add(Rule{Kind: "*", Effect: Refused, Reason: w.Message}, detail{}, w.Path)
		}
	}
}

// leaf adds the consequence of one field that differs.
func (t Table) leaf(c *collector, at *subject) {
	r, d, ok := t.field(kindOf(at.diff.Key), at)
	if !ok {
		r = Rule{Kind: "*", Effect: Unknown, Reason: UnknownReason}
	}
	if r.Effect == Refused {
		switch {
		case at.diff.Recreated || at.diff.New().RecreatedIfImmutable():
			r.Effect, r.Reason = Recreate, r.Reason+"; the node's policy deletes the object and creates it again"
			d = at.pods()
		case at.sides.live != nil && !at.diff.Refused && !at.unchecked():
			r.Effect, r.Reason = InPlace, "the API server accepts it in a dry run"
		}
	}
	if r.Effect.Restarts() && d.pods == 0 && !d.allNodes {
		d.pods, d.allNodes = at.running()
	}
	c.add(r, d, at.leaf.path)
}

// kindOf returns the kind of an object as rules have it.
func kindOf(k objectdiff.Key) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Group + "/" + k.Kind
}

// collector collects the consequences of one object: one per effect and rule.
type collector struct{ found []Consequence }

// add adds a consequence, unless the rule has one already.
func (c *collector) add(r Rule, d detail, path string) {
	n := Consequence{Effect: r.Effect, Path: path, Pods: d.pods, AllNodes: d.allNodes, Reason: r.Reason, Rule: r.ID()}
	if d.text != "" {
		n.Reason += ": " + d.text
	}
	if !slices.ContainsFunc(c.found, func(o Consequence) bool { return o.Rule == n.Rule && o.Reason == n.Reason }) {
		c.found = append(c.found, n)
	}
}

// sorted returns the consequences, the most severe first. If the API server refuses
// the object, nothing else happens. None is left out beside others, and so is a milder
// restart beside a more severe one of the same Pods.
func (c *collector) sorted() []Consequence {
	worst, restart, refused := None, None, false
	for _, n := range c.found {
		if n.Effect.Severity() > worst.Severity() {
			worst = n.Effect
		}
		if n.Effect.Restarts() && n.Effect.Severity() > restart.Severity() {
			restart = n.Effect
		}
		refused = refused || n.Effect == Refused
	}
	kept := slices.DeleteFunc(slices.Clone(c.found), func(n Consequence) bool {
		return refused && n.Effect != Refused || n.Effect == None && worst != None ||
			n.Effect.Restarts() && n.Effect != restart
	})
	slices.SortStableFunc(kept, Consequence.compare)
	return kept
}
