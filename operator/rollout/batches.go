package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// batches are the sizes of the batches of a rollout. The last one has all instances.
type batches []intstr.IntOrString

// batchesOf returns the batches of the settings, which may be nil.
func batchesOf(settings *v1alpha1.Rollout) batches {
	all := intstr.FromString("100%")
	if settings == nil {
		return batches{all}
	}
	b := slices.Clone(settings.Batches)
	if len(b) == 0 || b[len(b)-1] != all {
		b = append(b, all)
	}
	return b
}

// step returns how many instances change at a time in the first batch, at least one.
func (b batches) step(total int) int { return max(1, share(b[0], total)) }

// target returns the number of instances that have the new version at the end of a batch,
// counted from 1. canaries is the number of instances that the first batch must have.
func (b batches) target(batch, total, canaries int) int {
	if batch >= len(b) {
		return total
	}
	n := canaries
	for _, size := range b[:batch] {
		n = max(n, share(size, total))
	}
	return min(n, total)
}

// next returns the first batch after a batch that has more than done instances, or the last
// batch.
func (b batches) next(batch, done, total, canaries int) int {
	for batch++; batch < len(b) && b.target(batch, total, canaries) <= done; batch++ {
	}
	return min(batch, len(b))
}

// share resolves a number or a percentage of total, rounded up.
func share(size intstr.IntOrString, total int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&size, total, true)
	if err != nil {
		return 1 // the CRD refuses such values
	}
	return min(n, total)
}

// threshold resolves the number of failures that halts a rollout: at least one, by default
// exactly one.
func threshold(size *intstr.IntOrString, total int) int {
	if size == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(size, total, true)
	if err != nil {
		return 1
	}
	return max(1, n)
}
