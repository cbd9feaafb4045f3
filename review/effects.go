package review

import (
	"cmp"
	"slices"

	"github.com/pequod-io/pequod/review/forecast"
)

// EffectsIn returns the effects that an object of a group has in any of its instances, as
// [Report.Effects] counts them, the most severe first. object is the index of the object in
// each instance.
func (r *Report) EffectsIn(g Group, object int) []forecast.Effect {
	var all []forecast.Effect
	for _, i := range g.Instances {
		for e, has := range r.Instances[i].Objects[object].effects() {
			if has && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b forecast.Effect) int { return cmp.Compare(b.Severity(), a.Severity()) })
	return all
}

// Mild returns the consequences that are no dangers.
func (o *Object) Mild() []forecast.Consequence {
	return slices.DeleteFunc(slices.Clone(o.Consequences), func(c forecast.Consequence) bool { return dangerous(c.Effect) })
}
