package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Status converts an inventory to the form that the status of a ResourceGraph
// stores.
func Status(inv *Inventory) *v1alpha1.Inventory {
	s := &v1alpha1.Inventory{Revision: inv.Revision, Complete: inv.Complete, Unsearched: inv.Unsearched, Count: len(inv.Entries)}
	for _, e := range inv.Entries {
		entry := v1alpha1.InventoryEntry{
			Group: e.Group, Version: e.Version, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name,
			Node: e.Node, Wave: e.Wave, Orphan: e.Orphan, Create: e.Create, Done: e.Done, Manager: e.Manager,
			UID: e.UID, Desired: e.Desired, Live: e.Live,
		}
		if !e.LeavingSince.IsZero() {
			entry.LeavingSince = &metav1.Time{Time: e.LeavingSince}
		}
		s.Entries = append(s.Entries, entry)
	}
	return s
}

// OfStatus converts the inventory in a ResourceGraph's status back.
func OfStatus(owner Owner, s *v1alpha1.Inventory) *Inventory {
	inv := &Inventory{Owner: owner, Revision: s.Revision, Complete: s.Complete, Unsearched: s.Unsearched}
	for _, e := range s.Entries {
		entry := Entry{
			Key:     Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name},
			Version: e.Version, Node: e.Node, Wave: e.Wave, Orphan: e.Orphan, Create: e.Create, Done: e.Done, Manager: e.Manager,
			UID: e.UID, Desired: e.Desired, Live: e.Live,
		}
		if e.LeavingSince != nil {
			entry.LeavingSince = Seconds(e.LeavingSince.Time)
		}
		inv.Entries = append(inv.Entries, entry)
	}
	Sort(inv.Entries)
	return inv
}
