package metrics

import "slices"

// other replaces the values of a label that exceed its bound. A user's value of
// that name is not told apart and takes no room.
const other = "other"

// The number of values that labels take, per graph and in total. A graph of
// usual size gets a series for each node, and a graph of a thousand nodes
// doesn't use up the values of all others.
const (
	nodeIDsPerGraph = 50
	nodeIDsInAll    = 1000
	kindsPerGraph   = 50
	kindsInAll      = 300
)

// capped bounds the values of a label. A value counts as long as any graph uses
// it. The caller synchronizes its use.
//
// The bound per graph keeps one graph from taking the room of all others; the
// bound in total limits the memory of Prometheus. Values are given room first
// come, first served.
type capped struct {
	// perGraph and inAll are the bounds; used has at most perGraph values for
	// each graph, and users at most inAll.
	perGraph, inAll int
	users           map[string]int        // number of graphs that use a value
	used            map[graphKey][]string // values that a graph uses
}

// newCapped returns the bounds of one label.
func newCapped(perGraph, inAll int) *capped {
	return &capped{perGraph: perGraph, inAll: inAll, users: map[string]int{}, used: map[graphKey][]string{}}
}

// take returns the value of the label for a value of a graph: the same value, or
// other if a bound is reached. The graph uses the value until it is dropped. A
// value that another graph uses takes no room in total, but it does in this
// graph.
func (c *capped) take(g graphKey, value string) string {
	if slices.Contains(c.used[g], value) {
		return value
	}
	full := len(c.used[g]) >= c.perGraph || c.users[value] == 0 && len(c.users) >= c.inAll
	if value == other || full {
		return other
	}
	c.used[g] = append(c.used[g], value)
	c.users[value]++
	return value
}

// drop ends the use of a graph's values, except for those to keep. It returns
// the values that no graph uses any more: their series have to be removed.
func (c *capped) drop(g graphKey, keep func(string) bool) (unused []string) {
	c.used[g] = slices.DeleteFunc(c.used[g], func(value string) bool {
		if keep(value) {
			return false
		}
		if c.users[value]--; c.users[value] == 0 {
			delete(c.users, value)
			unused = append(unused, value)
		}
		return true
	})
	if len(c.used[g]) == 0 {
		delete(c.used, g)
	}
	return unused
}
