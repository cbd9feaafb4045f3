package vet

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render"
)

// Images returns the container images that a module chooses itself, sorted: those in the
// samples that [Module] renders, without images that an instance gives. It also looks at
// samples that the module refuses, because some choices are only in these. Nodes below a
// guard that no sample satisfies are not seen.
func Images(ctx context.Context, p *render.Platform, limits render.Limits) ([]string, error) {
	c := &checker{platform: p, dropsValues: true, reported: map[problem.Problem]bool{}, guard: func(run func()) error {
		_, err := render.Guard(ctx, limits, p.Subject(), func() (struct{}, error) { run(); return struct{}{}, nil })
		return err
	}}
	var s *inputWalker
	c.guarded(func() { s = c.walkRender() })
	found := map[string]bool{}
	c.eachSample(s, func(g renderedGraph) {
		given := map[string]bool{}
		g.sample.strings(given)
		images(get(g.value, "output"), func(image string) {
			_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
			if !given[image] && !given[tag] && !isPlaceholder(image) {
				found[image] = true
			}
		})
	})
	return slices.Sorted(maps.Keys(found)), c.err
}

// images calls add with the images of the containers below a value.
func images(v cue.Value, add func(string)) {
	for name, f := range fields(v) {
		if name != "containers" && name != "initContainers" {
			images(f, add)
			continue
		}
		for _, container := range elements(f) {
			if image, err := get(container, "image").String(); err == nil && image != "" {
				add(image)
			}
		}
	}
	for _, e := range elements(v) {
		images(e, add)
	}
}

// strings adds the strings in a sample.
func (s *sample) strings(to map[string]bool) {
	if s == nil {
		return
	}
	if text, ok := cuesyntax.Text(s.value); ok {
		to[text] = true
	}
	s.item.strings(to)
	for _, f := range s.fields {
		f.strings(to)
	}
}
