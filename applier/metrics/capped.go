package metrics

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
	held            map[graphKey]map[string]bool
}

func newCapped(perGraph, inAll int) *capped {
	return &capped{perGraph: perGraph, inAll: inAll, users: map[string]int{}, held: map[graphKey]map[string]bool{}}
}

// take gives the label's value for a value of a graph: itself, or other.
func (c *capped) take(g graphKey, value string) string {
	if c.held[g][value] {
		return value
	}
	full := len(c.held[g]) >= c.perGraph || c.users[value] == 0 && len(c.users) >= c.inAll
	if value == other || full {
		return other
	}
	if c.held[g] == nil {
		c.held[g] = map[string]bool{}
	}
	c.held[g][value] = true
	c.users[value]++
	return value
}

// drop gives up the values of a graph but those to keep, and says which of them
// no graph uses any more.
func (c *capped) drop(g graphKey, keep func(string) bool) (unused []string) {
	for value := range c.held[g] {
		if keep(value) {
			continue
		}
		delete(c.held[g], value)
		if c.users[value]--; c.users[value] == 0 {
			delete(c.users, value)
			unused = append(unused, value)
		}
	}
	if len(c.held[g]) == 0 {
		delete(c.held, g)
	}
	return unused
}
