package vet

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/render"
)

// graph is what the module makes of a sample.
type graph struct {
	value cue.Value
	// refusals counts the violations that refuse the sample, as far as they are
	// known; unknown says that there may be others.
	refusals int
	unknown  bool
}

func (g graph) refused() bool { return g.refusals > 0 || g.unknown }

// maxGraphs bounds how many samples are looked at.
const maxGraphs = 300

// graphs evaluates the module with samples: one with nothing, one with everything,
// and from each of them those for which an `if` or a `for` makes something, or
// doesn't. All are such as instances may be, so that what is wrong for one
// of them is wrong.
func (c *checker) graphs(s *selectors) []graph {
	var nothing, everything *sample
	var wanted *shape
	c.bounded(func() {
		input := c.input()
		nothing, everything, wanted = c.sample(), full(schema{values: []cue.Value{input}}, 0), shapeOf(input, 0)
		everything.set(c.metadata...)
		everything.fill(wanted)
	})
	c.bounded(func() {
		if g, ok := c.made(everything); ok {
			everything, _ = c.spared(g, everything, nil, s.spared, 8*maxSpared)
		}
	})
	if c.err != nil {
		return nil
	}
	tried := map[string]bool{}
	var all []graph
	try := func(from *sample, wants choice) {
		from = from.clone()
		from.set(wants...)
		for _, key := range s.keys {
			if from.has(key.at) {
				from.set(key)
			}
		}
		from.fill(wanted)
		text := nodeText(from.syntax())
		if len(all) == maxGraphs || tried[text] {
			return
		}
		tried[text] = true
		if g, ok := c.made(from); ok {
			_, g = c.spared(g, from, wants, s.spared, maxSpared)
			c.meet(g.value)
			all = append(all, g)
		}
	}
	for _, wants := range append([]choice{nil}, s.tried...) {
		c.bounded(func() { try(nothing, wants) })
		c.bounded(func() { try(everything, wants) })
	}
	return all
}

// sample makes a sample.
func (c *checker) sample(wants ...want) *sample {
	s := &sample{}
	s.set(c.metadata...)
	s.set(wants...)
	return s
}

// made evaluates the module with a sample, and says whether the schema takes it.
func (c *checker) made(s *sample) (graph, bool) {
	v := c.evaluate(s)
	if v.LookupPath(inputPath).Validate() != nil {
		return graph{}, false
	}
	g := graph{value: v}
	violations := get(v, "output", "violations")
	g.unknown = violations.Exists() && violations.IncompleteKind() == cue.BottomKind
	for _, e := range elements(violations) {
		if severity := get(e, "severity"); severity.Exists() {
			if s, err := severity.String(); err == nil && s != "Error" {
				continue
			}
		}
		g.refusals++
	}
	return g, true
}

// maxSpared bounds how many samples are tried instead of one that is refused.
const maxSpared = 12

// spared looks for a sample like one that is refused, but that isn't: step by
// step, each for fewer violations than the one before.
func (c *checker) spared(g graph, s *sample, wants choice, ways []choice, most int) (*sample, graph) {
	for _, way := range ways {
		if g.refusals == 0 || g.unknown || most == 0 {
			break
		}
		if len(way) == 0 || slices.ContainsFunc(way, func(w want) bool { return touches(w, wants) }) {
			continue
		}
		other := s.clone()
		other.set(way...)
		most--
		if better, ok := c.made(other); ok && better.refusals < g.refusals {
			s, g = other, better
		}
	}
	return s, g
}

// touches says whether a want is about the place of others.
func touches(w want, others choice) bool {
	return slices.ContainsFunc(others, func(o want) bool {
		n := min(len(o.at), len(w.at))
		return slices.Equal(o.at[:n], w.at[:n])
	})
}

// graph looks at what is known of a graph.
func (c *checker) graph(g graph) {
	c.nodes(g)
	if g.refused() {
		return
	}
	for _, p := range render.CheckPartial(get(g.value, "output"), saysNothing) {
		if !c.lacksDead(p.Message) {
			c.tell(p)
		}
	}
}
