package metrics

import "slices"

// other stands for the values of a label that are over its bound.
const other = "other"

// How many values labels take. A graph of the usual size is seen node by node,
// and one of a thousand nodes doesn't take the place of all others.
const (
	nodeIDsPerGraph = 50
	nodeIDsInAll    = 1000
	kindsPerGraph   = 50
	kindsInAll      = 300
)

// capped bounds the values of a label. A value is there while any graph uses
// it; what it leaves free, the next may take.
type capped struct {
	perGraph, inAll int
	users           map[string]int // how many graphs use a value
	held            map[graphKey][]string
}

func newCapped(perGraph, inAll int) *capped {
	return &capped{perGraph: perGraph, inAll: inAll, users: map[string]int{}, held: map[graphKey][]string{}}
}

// take gives the label's value for a value of a graph: itself, or other.
func (c *capped) take(g graphKey, value string) string {
	if slices.Contains(c.held[g], value) {
		return value
	}
	full := len(c.held[g]) >= c.perGraph || c.users[value] == 0 && len(c.users) >= c.inAll
	if value == other || full {
		return other
	}
	c.held[g] = append(c.held[g], value)
	c.users[value]++
	return value
}

// drop gives up the values of a graph but those to keep, and says which of them
// no graph uses any more.
func (c *capped) drop(g graphKey, keep func(string) bool) (unused []string) {
	c.held[g] = slices.DeleteFunc(c.held[g], func(value string) bool {
		if keep(value) {
			return false
		}
		if c.users[value]--; c.users[value] == 0 {
			delete(c.users, value)
			unused = append(unused, value)
		}
		return true
	})
	if len(c.held[g]) == 0 {
		delete(c.held, g)
	}
	return unused
}
