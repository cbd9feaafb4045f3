package review

import (
	"cmp"
	"slices"

	"github.com/pequod-io/pequod/internal/source"
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

// Strongest returns the most severe consequence of a group over all its instances and objects,
// or "" if it has none:
//
//	12 rolling restarts of 30 Pods (2–5 each)
//	rolling restart of 3 Pods, and in 1 more object
func (r *Report) Strongest(g Group) string {
	var worst forecast.Effect
	first, objects := 0, 0
	for k := range r.Shown(g).Objects {
		effects := r.EffectsIn(g, k)
		switch {
		case len(effects) == 0:
		case objects == 0 || effects[0].Severity() > worst.Severity():
			worst, first, objects = effects[0], k, 1
		case effects[0] == worst:
			objects++
		}
	}
	if objects == 0 {
		return ""
	}
	text := worst.Title() // of a warning, which has no consequence
	all := r.Together(g)[first]
	if i := slices.IndexFunc(all, func(t Together) bool { return t.Effect == worst }); i >= 0 {
		text = all[i].Title()
	}
	if objects > 1 {
		text += ", and in " + source.Count(objects-1, "more object")
	}
	return text
}

// Mild returns the consequences that are no dangers.
func (o *Object) Mild() []forecast.Consequence {
	return slices.DeleteFunc(slices.Clone(o.Consequences), func(c forecast.Consequence) bool { return dangerous(c.Effect) })
}
