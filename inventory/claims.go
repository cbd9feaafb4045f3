package inventory

import "k8s.io/apimachinery/pkg/types"

// Claims tells which other graph lists an object, so that a graph which an
// object left releases it instead of pruning it.
type Claims struct {
	byKey map[Key]Owner
	byUID map[types.UID]Owner
}

// ClaimsOn is what the inventories of graphs other than self list. Where
// several list one object, the first of them is named. What only waits there to
// be removed, an entry without a node, isn't listed: two graphs that an object
// left would hand it to each other, until nobody looks after it.
func ClaimsOn(self Owner, inventories []*Inventory) Claims {
	c := Claims{map[Key]Owner{}, map[types.UID]Owner{}}
	for _, other := range inventories {
		if other.Owner == self {
			continue
		}
		for _, e := range other.Entries {
			if e.Node == "" {
				continue
			}
			if _, listed := c.byKey[e.Key]; !listed {
				c.byKey[e.Key] = other.Owner
			}
			if _, listed := c.byUID[e.UID]; !listed && e.UID != "" {
				c.byUID[e.UID] = other.Owner
			}
		}
	}
	return c
}

// Of says which other graph lists e, by its key or as the same object by UID.
func (c Claims) Of(e Entry) (Owner, bool) {
	if owner, listed := c.byKey[e.Key]; listed {
		return owner, true
	}
	owner, listed := c.byUID[e.UID]
	return owner, listed
}
