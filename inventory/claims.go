package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Listings records which graphs list which objects. It is immutable after
// [ListingsOf], so any number of graphs may query it concurrently.
type Listings struct {
	byKey map[Key][]Owner
	byUID map[types.UID][]Owner
	// anywhere has the owners by key without namespace, and clusterScoped those
	// whose entries have no namespace.
	anywhere, clusterScoped map[Key][]Owner
}

// ListingsOf collects what inventories list. Entries without a node do not count,
// because their objects only wait to be removed: two graphs that an object has
// left would otherwise hand it over to each other for ever.
func ListingsOf(inventories []*Inventory) *Listings {
	l := &Listings{map[Key][]Owner{}, map[types.UID][]Owner{}, map[Key][]Owner{}, map[Key][]Owner{}}
	for _, inv := range inventories {
		for _, e := range inv.Entries {
			if e.Node == "" {
				continue
			}
			name := e.Key
			name.Namespace = ""
			l.byKey[e.Key] = with(l.byKey[e.Key], inv.Owner)
			l.anywhere[name] = with(l.anywhere[name], inv.Owner)
			if e.Namespace == "" {
				l.clusterScoped[name] = with(l.clusterScoped[name], inv.Owner)
			}
			if e.UID != "" {
				l.byUID[e.UID] = with(l.byUID[e.UID], inv.Owner)
			}
		}
	}
	return l
}

// with appends owner to owners unless it is there already.
func with(owners []Owner, owner Owner) []Owner {
	if slices.Contains(owners, owner) {
		return owners
	}
	return append(owners, owner)
}

// Claims answers whether another graph lists an object. A graph that an object
// leaves then hands the object over instead of pruning it.
type Claims struct {
	self   Owner
	in     *Listings
	except []Owner
}

// ClaimsOn returns the claims of all graphs in inventories except self.
func ClaimsOn(self Owner, inventories []*Inventory) Claims {
	return ListingsOf(inventories).Besides(self)
}

// Besides returns the claims of all graphs except self.
func (l *Listings) Besides(self Owner) Claims { return Claims{self: self, in: l} }

// Except returns the claims without those of some graphs.
func (c Claims) Except(owners []Owner) Claims {
	c.except = slices.Concat(c.except, owners)
	return c
}

// Of returns the graph that lists e, either by key or, for an object that is
// reached by another API group, by UID. If several graphs do, it returns the
// first. The zero Claims lists nothing.
//
// If only one of the two entries has a namespace, the namespace doesn't count. The
// graph of the other entry didn't know the scope of the kind, and assumed that it
// is namespaced.
func (c Claims) Of(e Entry) (Owner, bool) {
	if c.in == nil {
		return Owner{}, false
	}
	name := e.Key
	name.Namespace = ""
	unscoped := c.in.clusterScoped[name]
	if e.Namespace == "" {
		unscoped = c.in.anywhere[name]
	}
	owners := slices.Concat(c.in.byKey[e.Key], c.in.byUID[e.UID], unscoped)
	if i := slices.IndexFunc(owners, func(o Owner) bool { return o != c.self && !slices.Contains(c.except, o) }); i >= 0 {
		return owners[i], true
	}
	return Owner{}, false
}
