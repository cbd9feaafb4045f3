package inventory

import "slices"

// Equal reports whether two inventories have the same content. It ignores where
// they are stored and the order of their entries.
func Equal(a, b *Inventory) bool {
	if a.Owner != b.Owner || a.Revision != b.Revision || a.Complete != b.Complete || !slices.Equal(a.Unsearched, b.Unsearched) {
		return false
	}
	x, y := slices.Clone(a.Entries), slices.Clone(b.Entries)
	Sort(x)
	Sort(y)
	return slices.Equal(x, y)
}
