package vet

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/render"
)

// renderedGraph is #Render evaluated for a sample.
type renderedGraph struct {
	value cue.Value
	// refusals is the number of violations of severity Error that are known.
	// unknown means that there may be more.
	refusals int
	unknown  bool
	// sample is the input.
	sample *sample
	// complete is the sample with generated strings where the common values don't fit,
	// or nil if it needs none. value has none of them.
	complete *sample
}

// refused reports whether a violation refuses the sample, or may refuse it.
func (g renderedGraph) refused() bool { return g.refusals > 0 || g.unknown }

// maxSamples limits the number of samples, and with it the time of a check. Each
// sample is a full evaluation of the module. The samples without wants come
// first, so the limit drops variants only.
const maxSamples = 300

// renderSamples evaluates the module with samples: one with required fields only,
// one with everything, and variants of both for which an `if` or `for` yields
// something or nothing. All samples are accepted by the schema, so an error in
// one of them is an error of the module.
//
// The steps for each sample are: set the wants of the branch, set the wants of
// computed labels, fill in required scalars, skip the sample if it was tried
// before, evaluate it, and replace it with a sample that the module does not
// refuse, if one is found. Each sample runs through the caller's guard as a
// whole.
func (c *checker) renderSamples(s *inputWalker) []renderedGraph {
	var all []renderedGraph
	c.eachSample(s, func(g renderedGraph) { all = append(all, g) })
	return all
}

// eachSample calls visit with the samples of renderSamples. visit runs under the guard. All
// samples together take hundreds of megabytes, so a caller that keeps none sets dropsValues.
func (c *checker) eachSample(s *inputWalker, visit func(renderedGraph)) {
	var nothing, everything *sample
	var from, complete *example
	// The two samples that all others are made from.
	c.guarded(func() {
		from = exampleOf(s.input, true, false)
		complete = from.complete(&c.generated)
		nothing, everything = c.sample(), from.everything()
		everything.set(c.metadata...)
	})
	c.guarded(func() {
		// A violation in the sample with everything would be in most variants,
		// too.
		all := func(*sample) bool { return true }
		var g renderedGraph
		var ok bool
		if everything, g, ok = c.renderFilled(everything, from, all); ok {
			everything, _ = c.avoidViolations(g, everything, nil, s.allowing, 8*maxAvoidances)
		}
	})
	if c.err != nil {
		return
	}
	tried := map[string]bool{}
	isNew := func(s *sample) bool {
		text := syntax.Text(s.syntax())
		defer func() { tried[text] = true }()
		return !tried[text]
	}
	rendered := 0
	// try evaluates one variant, unless it was tried before.
	try := func(base *sample, wants choice) {
		tested := base.clone()
		tested.set(wants...)
		for _, key := range s.keys {
			if tested.has(key.path) {
				tested.set(key)
			}
		}
		if rendered == maxSamples {
			return
		}
		if tested, g, ok := c.renderFilled(tested, from, isNew); ok {
			tested, g = c.avoidViolations(g, tested, wants, s.allowing, maxAvoidances)
			g.sample = tested
			if len(c.generated) > 0 {
				g.complete = tested.clone()
				g.complete.fill(complete)
			}
			c.ids.addRendered(g.value)
			rendered++
			visit(g)
		}
	}
	// The nil choice stands for the two samples themselves.
	for _, wants := range append([]choice{nil}, s.branches...) {
		c.guarded(func() { try(nothing, wants) })
		c.guarded(func() { try(everything, wants) })
	}
}

// renderFilled renders a sample with the required scalars, if test accepts it, and returns both. With
// c.anyNumber, it tries larger numbers if the input refuses the sample: a bound that depends on another
// field is not in the schema.
func (c *checker) renderFilled(s *sample, from *example, test func(*sample) bool) (*sample, renderedGraph, bool) {
	filled := s.clone()
	filled.fill(from)
	if !test(filled) {
		return filled, renderedGraph{}, false
	}
	g, ok := c.render(filled)
	if ok || !c.anyNumber {
		return filled, g, ok
	}
	larger := s.clone()
	larger.fill(from.larger())
	if test(larger) {
		if g, ok := c.render(larger); ok {
			return larger, g, true
		}
	}
	return filled, renderedGraph{}, false
}

// sample returns a sample with the metadata and the given wants.
func (c *checker) sample(wants ...want) *sample {
	s := &sample{}
	s.set(c.metadata...)
	s.set(wants...)
	return s
}

// render evaluates the module with a sample, and counts the violations. It
// returns false if the schema does not accept the sample. A violation without a
// severity counts as an error, which is the default.
func (c *checker) render(s *sample) (renderedGraph, bool) {
	v := c.evaluate(s)
	if v.LookupPath(inputPath).Validate() != nil {
		return renderedGraph{}, false
	}
	g := renderedGraph{value: v}
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

// maxAvoidances limits the number of samples that are tried in place of a refused
// one. The sample with everything gets eight times as many, because most other
// samples are made from it.
const maxAvoidances = 12

// avoidViolations looks for a sample like s with fewer violations, because a
// refused sample is no instance that can exist. It tries the choices in turn, keeps
// each that reduces the violations, skips those that would change the given wants,
// and tries at most the given number.
func (c *checker) avoidViolations(g renderedGraph, s *sample, wants choice, ways []choice, most int) (*sample, renderedGraph) {
	for _, way := range ways {
		if g.refusals == 0 || g.unknown || most == 0 {
			break
		}
		if len(way) == 0 || slices.ContainsFunc(way, func(w want) bool { return overlaps(w, wants) }) {
			continue
		}
		other := s.clone()
		other.set(way...)
		most--
		if better, ok := c.render(other); ok && better.refusals < g.refusals {
			s, g = other, better
		}
	}
	return s, g
}

// overlaps reports whether a want is at, above or below the path of one of the
// others. Setting it could undo that want.
func overlaps(w want, others choice) bool {
	return slices.ContainsFunc(others, func(o want) bool {
		n := min(len(o.path), len(w.path))
		return slices.Equal(o.path[:n], w.path[:n])
	})
}

// checkGraph checks the nodes of a graph and, if the sample is not refused, the
// graph as a whole. A refused instance never gets a graph, so errors of the whole
// graph do not matter there.
func (c *checker) checkGraph(g renderedGraph) {
	c.nodes(g)
	if g.refused() {
		return
	}
	for _, p := range render.CheckPartial(get(g.value, "output"), isPlaceholder) {
		if !c.ids.explain(p.Message) {
			c.report(p)
		}
	}
}
