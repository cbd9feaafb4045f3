package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Listings are what many graphs list. They don't change any more, so that any
// number of graphs may look for others' claims in them.
type Listings struct {
	byKey map[Key][]Owner
	byUID map[types.UID][]Owner
}

// ListingsOf is what inventories list. What only waits there to be removed, an
// entry without a node, isn't listed: two graphs that an object left would hand
// it to each other, until nobody looks after it.
func ListingsOf(inventories []*Inventory) *Listings {
	l := &Listings{map[Key][]Owner{}, map[types.UID][]Owner{}}
	for _, inv := range inventories {
		for _, e := range inv.Entries {
			if e.Node == "" {
				continue
			}
			l.byKey[e.Key] = with(l.byKey[e.Key], inv.Owner)
			if e.UID != "" {
				l.byUID[e.UID] = with(l.byUID[e.UID], inv.Owner)
			}
		}
	}
	return l
}

func with(owners []Owner, owner Owner) []Owner {
	if slices.Contains(owners, owner) {
		return owners
	}
	return append(owners, owner)
}

// Claims tells which other graph lists an object, so that a graph which an
// object left releases it instead of pruning it.
type Claims struct {
	self Owner
	in   *Listings
}

// ClaimsOn is what the inventories of graphs other than self list.
func ClaimsOn(self Owner, inventories []*Inventory) Claims {
	return ListingsOf(inventories).Besides(self)
}

// Besides is what graphs other than self list.
func (l *Listings) Besides(self Owner) Claims { return Claims{self, l} }

// Of says which other graph lists e, by its key or as the same object by UID.
// Where several do, it is the first of them.
func (c Claims) Of(e Entry) (Owner, bool) {
	if c.in == nil {
		return Owner{}, false
	}
	owners := slices.Concat(c.in.byKey[e.Key], c.in.byUID[e.UID])
	if i := slices.IndexFunc(owners, func(o Owner) bool { return o != c.self }); i >= 0 {
		return owners[i], true
	}
	return Owner{}, false
}
