package rollout

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// sorted returns the instances in the order in which a rollout to a digest reaches them.
// Instances that the keys don't tell apart are in the order of their names.
func sorted(instances []*Instance, keys []v1alpha1.RolloutOrder, digest string) []*Instance {
	type entry struct {
		*Instance
		ranks []rank
	}
	entries := make([]entry, len(instances))
	for i, in := range instances {
		entries[i] = entry{in, make([]rank, len(keys))}
		for k := range keys {
			entries[i].ranks[k] = rankOf(in, &keys[k], digest)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(slices.CompareFunc(a.ranks, b.ranks, rank.compare), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out := make([]*Instance, len(entries))
	for i := range entries {
		out[i] = entries[i].Instance
	}
	return out
}

// rank is the position of an instance by one key: first by class, then by number, then by
// text.
type rank struct {
	class, number int64
	text          string
}

// The classes of values, in their order.
const (
	classListed = iota
	classInteger
	classText
	classMissing
)

func (r rank) compare(s rank) int {
	return cmp.Or(cmp.Compare(r.class, s.class), cmp.Compare(r.number, s.number), strings.Compare(r.text, s.text))
}

// rankOf returns the position of an instance by a key.
func rankOf(in *Instance, key *v1alpha1.RolloutOrder, digest string) rank {
	var values map[string]string
	switch key.By {
	case v1alpha1.OrderByLabel:
		values = in.Labels
	case v1alpha1.OrderByAnnotation:
		values = in.Annotations
	case v1alpha1.OrderByRandom:
		// A hash is the same in each process, and differs from rollout to rollout.
		sum := sha256.Sum256([]byte(digest + "\x00" + in.Namespace + "\x00" + in.Name))
		return rank{text: string(sum[:])}
	default:
		return rank{text: in.Namespace + "\x00" + in.Name}
	}
	value, ok := values[key.Key]
	if !ok {
		return rank{class: classMissing}
	}
	if i := slices.Index(key.Values, value); i >= 0 {
		return rank{class: classListed, number: int64(i)}
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return rank{class: classInteger, number: n}
	}
	return rank{class: classText, text: value}
}

// canariesOf returns one instance of each impact group: the first of each, in the order of
// the instances, which are sorted. Of more than [v1alpha1.MaxCanaries] groups it
// takes the largest.
func canariesOf(instances []*Instance) []*Instance {
	size := map[string]int{}
	var first []*Instance
	for _, in := range instances {
		if size[in.Change]++; size[in.Change] == 1 {
			first = append(first, in)
		}
	}
	if len(first) <= v1alpha1.MaxCanaries {
		return first
	}
	largest := slices.Clone(first)
	slices.SortStableFunc(largest, func(a, b *Instance) int { return size[b.Change] - size[a.Change] })
	kept := map[*Instance]bool{}
	for _, in := range largest[:v1alpha1.MaxCanaries] {
		kept[in] = true
	}
	return slices.DeleteFunc(first, func(in *Instance) bool { return !kept[in] })
}
