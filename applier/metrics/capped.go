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
	// graphsInAll is the number of graphs that a metric has as values of resourcegraph.
	// The histogram of executions has 15 series for each of them, and 30 if some of its
	// executions failed.
	graphsInAll = 1000
)

// capped bounds the values of a label. A value counts as long as any graph uses
// it. The caller synchronizes its use.
//
// The bound per graph keeps one graph from taking the room of all others; the
// bound in total limits the memory of Prometheus. Values are given room first
// come, first served.
//
// Each graph keeps the list of the values that it uses. All lists share one copy of
// a value.
type capped struct {
	// perGraph and inAll are the bounds; a list has at most perGraph values, and
	// values at most inAll.
	perGraph, inAll int
	values          map[string]*cappedValue
}

// cappedValue is a value that graphs use.
type cappedValue struct {
	value string
	users int // number of graphs
}

// newCapped returns the bounds of one label.
func newCapped(perGraph, inAll int) *capped {
	return &capped{perGraph: perGraph, inAll: inAll, values: map[string]*cappedValue{}}
}

// take returns the value of the label for a value of a graph, whose list is used: the
// same value, or other if a bound is reached. The graph uses the value until it is
// dropped. A value that another graph uses takes no room in total, but it does in this
// graph.
func (c *capped) take(used *[]string, value string) string {
	if i := slices.Index(*used, value); i >= 0 {
		return (*used)[i]
	}
	v := c.values[value]
	if value == other || len(*used) >= c.perGraph || v == nil && len(c.values) >= c.inAll {
		return other
	}
	if v == nil {
		v = &cappedValue{value: value}
		c.values[value] = v
	}
	v.users++
	*used = append(*used, v.value)
	return v.value
}

// drop ends the use of a graph's values, except for those to keep. It returns
// the values that no graph uses any more: their series have to be removed.
func (c *capped) drop(used *[]string, keep func(string) bool) (unused []string) {
	*used = slices.DeleteFunc(*used, func(value string) bool {
		if keep(value) {
			return false
		}
		v := c.values[value]
		if v.users--; v.users == 0 {
			delete(c.values, value)
			unused = append(unused, value)
		}
		return true
	})
	return unused
}
