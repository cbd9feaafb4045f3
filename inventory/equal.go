package inventory

import "slices"

// Equal says whether two inventories hold the same, wherever they are stored.
func Equal(a, b *Inventory) bool {
	if a.Owner != b.Owner || a.Revision != b.Revision || a.Complete != b.Complete {
		return false
	}
	x, y := slices.Clone(a.Entries), slices.Clone(b.Entries)
	Sort(x)
	Sort(y)
	return slices.Equal(x, y)
}
