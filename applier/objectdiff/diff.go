package objectdiff

import (
	"github.com/pequod-io/pequod/internal/problem"
)

// Action is a change of an object or of one of its fields.
type Action string

// The actions. Reorder applies only to fields: a list has the same members, which
// are identified by keys, in another order.
const (
	Add     Action = "add"
	Modify  Action = "change"
	Remove  Action = "remove"
	Reorder Action = "reorder"
)

// Change is one field that differs. A change of a whole map or list that was
// added or removed is a single Change, with the map or list as its value.
type Change struct {
	// Path leads to the field. The index of a list member that both sides have is
	// that in the new list.
	Path   Path
	Action Action
	// By is the field manager that changed a live field since it was applied, or
	// "others" if the field was removed. It is empty if the graph changed the field.
	By string
	// old is nil for Add and new is nil for Remove. For Reorder both are the keys of
	// the members in their order. Values may be masked secrets.
	old, new any
}

// ObjectDiff is the change of one object.
type ObjectDiff struct {
	Key
	Action Action
	// Changes is sorted by field name. It is empty for added and removed objects.
	Changes  []Change
	Warnings problem.List
	// Refused is set if an apply would fail for this object. A warning has the
	// reason.
	Refused bool
	// Recreated is set if the object is deleted and created again.
	Recreated bool

	// old is nil for an added object, new for a removed one.
	old, new *Object
}

// object returns the new object, or the old one if the object is removed.
func (o *ObjectDiff) object() *Object {
	if o.new != nil {
		return o.new
	}
	return o.old
}

// Diff is the set of changes in a cluster. Objects that do not change are not in
// it. The others are sorted by namespace, kind, group and name. The zero Diff has
// no changes.
type Diff struct {
	Objects []ObjectDiff
}

// Plan has the number of objects per action.
type Plan struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Remove int `json:"remove"`
	// Refused counts objects that an apply would fail for. They are not counted
	// elsewhere. Comparisons of files have none.
	Refused int `json:"refused,omitempty"`
}

// Plan counts the objects of the diff. A recreated object counts as a change.
func (d Diff) Plan() Plan {
	var p Plan
	for _, o := range d.Objects {
		if o.Refused {
			p.Refused++
			continue
		}
		switch o.Action {
		case Add:
			p.Add++
		case Remove:
			p.Remove++
		default:
			p.Change++
		}
	}
	return p
}
