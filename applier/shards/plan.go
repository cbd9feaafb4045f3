package shards

import (
	"cmp"
	"slices"
)

// state has the replicas and shards as one replica observes them.
type state struct {
	// held has the number of shards that each live replica holds, by its identity.
	held map[string]int
	// free are the shards that no live replica holds, in ascending order.
	free []int
	// count is the number of all shards.
	count int
}

// plan returns the free shards that a replica takes, and how many of its own it gives up. All
// replicas that know the same state agree: no replica takes the shard of another, and as few
// shards as possible change their replica.
func (s state) plan(identity string) (take []int, giveUp int) {
	replicas := make([]string, 0, len(s.held))
	for name := range s.held {
		replicas = append(replicas, name)
	}
	// If the shards can't be divided evenly, those that hold most have one more.
	slices.SortFunc(replicas, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.held[b], s.held[a]), cmp.Compare(a, b))
	})
	free := s.free
	for i, name := range replicas {
		quota := s.count / len(replicas)
		if i < s.count%len(replicas) {
			quota++
		}
		missing := min(max(quota-s.held[name], 0), len(free))
		if name == identity {
			return free[:missing], max(s.held[name]-quota, 0)
		}
		free = free[missing:]
	}
	return nil, 0
}
