package review

import (
	"cmp"
	"slices"

	"github.com/pequod-io/pequod/review/forecast"
)

// Effects returns the effects of an object as [Report.Effects] counts them, the most
// severe first.
func (o *Object) Effects() []forecast.Effect {
	var all []forecast.Effect
	for e, has := range o.effects() {
		if has {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b forecast.Effect) int { return cmp.Compare(b.Severity(), a.Severity()) })
	return all
}
