package shards

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestPlan moves shards until no replica plans a move: then they are divided evenly, every shard
// is held, and no more shards have moved than had to.
func TestPlan(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		count, holders := 1+random.IntN(20), map[int]string{}
		var live []string
		for i := range 1 + random.IntN(8) {
			live = append(live, "replica-"+strconv.Itoa(i))
		}
		for shard := range count {
			if i := random.IntN(len(live) + 1); i < len(live) { // the others are free
				holders[shard] = live[i]
			}
		}
		before := maps.Clone(holders)
		rounds := 0
		for moved := true; moved; rounds++ {
			if rounds > 3 {
				t.Fatalf("seed %d: no rest after %d rounds: %v", seed, rounds, holders)
			}
			moved = round(t, count, live, holders)
		}
		excess := 0
		sizes := func(of map[int]string) map[string]int {
			s := map[string]int{}
			for _, name := range live {
				s[name] = 0
			}
			for _, name := range of {
				s[name]++
			}
			return s
		}
		now := slices.Sorted(maps.Values(sizes(holders)))
		if len(holders) != count || now[len(now)-1]-now[0] > 1 {
			t.Errorf("seed %d: %d shards are divided into %v", seed, count, now)
		}
		was := slices.Sorted(maps.Values(sizes(before)))
		for i := range was {
			excess += max(was[i]-now[i], 0)
		}
		moves := 0
		for shard, name := range before {
			if holders[shard] != name {
				moves++
			}
		}
		if moves != excess {
			t.Errorf("seed %d: %d shards have moved, %d had to", seed, moves, excess)
		}
	}
}

// round makes all replicas plan with the same state, and reports whether something changed.
func round(t *testing.T, count int, live []string, holders map[int]string) bool {
	t.Helper()
	s := state{held: map[string]int{}, count: count}
	for _, name := range live {
		s.held[name] = 0
	}
	for shard := range count {
		if name, ok := holders[shard]; ok {
			s.held[name]++
		} else {
			s.free = append(s.free, shard)
		}
	}
	moved := false
	for _, name := range live {
		take, giveUp := s.plan(name)
		for _, shard := range take {
			if by, ok := holders[shard]; ok {
				t.Errorf("%s takes shard %d of %s", name, shard, by)
			}
			holders[shard] = name
		}
		for shard := 0; shard < count && giveUp > 0; shard++ {
			if holders[shard] == name && !slices.Contains(take, shard) {
				delete(holders, shard)
				giveUp--
				moved = true
			}
		}
		moved = moved || len(take) > 0
	}
	return moved
}

// TestPlanOfStranger checks the plan of a replica that the others don't see.
func TestPlanOfStranger(t *testing.T) {
	s := state{held: map[string]int{"a": 1}, free: []int{1}, count: 2}
	if take, giveUp := s.plan("b"); len(take) != 0 || giveUp != 0 {
		t.Errorf("it takes %v and gives up %d", take, giveUp)
	}
}
