package engine

import (
	"fmt"

	"github.com/pequod-io/pequod/inventory"
)

// contest describes an object that two graphs adopt. Each takes it whenever the other
// one has it.
type contest struct {
	rival inventory.Owner
	taken int // how often this graph took the object from the rival
}

// took records that a node took its object from another graph.
func (d *Damper) took(key inventory.Key, rival inventory.Owner) {
	if d == nil || rival == (inventory.Owner{}) {
		return
	}
	if d.contests == nil {
		d.contests = map[inventory.Key]contest{}
	}
	d.contests[key] = contest{rival, d.contests[key].taken + 1}
}

// contested describes the contest about the object of a node, "" if there is none. A
// graph that takes an object once takes it for good.
func (d *Damper) contested(key inventory.Key) string {
	if d == nil || d.contests[key].taken < 2 {
		return ""
	}
	c := d.contests[key]
	return fmt.Sprintf("was adopted %d times from graph %s, which adopts it, too: remove it from one of the two graphs", c.taken, c.rival)
}

// rival returns the graph from which a write takes the object of a node, the zero value
// if it takes it from none.
func (e *Engine) rival(n *node, a *ApplyRequest) inventory.Owner {
	if seen := e.cache.objects[n.key]; a.Adopt && seen != nil && seen.owned && !seen.mine {
		return seen.owner
	}
	return inventory.Owner{}
}
