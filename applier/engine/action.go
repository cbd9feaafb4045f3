package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// Verb identifies the kind of an action.
type Verb string

// The verbs.
const (
	// Survey reads every object of the graph and of its inventory once, with as
	// few requests as possible.
	Survey Verb = "Survey"
	// Discover looks up whether a kind is namespaced.
	Discover Verb = "Discover"
	// Read reads one object.
	Read Verb = "Read"
	// Record stores the inventory.
	Record Verb = "Record"
	// Apply creates or updates an object.
	Apply Verb = "Apply"
	// Delete deletes an object.
	Delete Verb = "Delete"
	// Release gives up the ownership of an object without deleting it: it removes
	// the graph's labels and its field manager. With Action.NewOwner, both pass to
	// another graph.
	Release Verb = "Release"
	// LoadClaims reads which objects other graphs list.
	LoadClaims Verb = "LoadClaims"
	// Compare reads which fields of an object differ from the desired ones, and
	// which managers own them.
	Compare Verb = "Compare"
	// Explain looks up why an object isn't ready.
	Explain Verb = "Explain"
)

// Action is a request to the driver, which answers with [Engine.Done].
type Action struct {
	Verb Verb
	// Key and Version (the API version) name the object. They are empty for
	// Survey, Record and LoadClaims. The key of a Discover has only a group and a
	// kind.
	Key     inventory.Key
	Version string
	// Node is the id of the node of the object, "" if the object left the graph.
	Node string

	// Polled is set for Reads of objects with the graph's labels that a watch may have
	// missed. The driver may answer those of one step and kind with one list. An object
	// that left the graph is then being deleted, and gone if it isn't in the list.
	Polled bool
	// Targets are the objects of a Survey.
	Targets []Target
	// Search is set if a Survey also has to find the objects of all kinds that have
	// the labels of the graph. Groups are the API groups to search, all if it is empty.
	Search bool
	Groups []string
	// Inventory is to be recorded. If it is complete and has no entries, its
	// record is to be removed.
	Inventory *inventory.Inventory
	// Apply has the parameters of Apply and Compare. A Delete has it if the object
	// is deleted to be recreated: the object must not be deleted if the API server
	// would refuse to create this one.
	Apply *ApplyRequest
	// UID is a precondition of Delete and Release: another object of the same
	// name must not be touched.
	UID types.UID
	// ResourceVersion is a precondition too: an object that changed after the
	// engine decided may belong to another graph by now.
	ResourceVersion string
	// NewOwner is the graph that a released object is handed over to, nil if none.
	NewOwner *inventory.Owner
	// Kept is, of a Release, why the object isn't deleted, see graph.KeepReason.
	// It is "" if the object is released for another reason.
	Kept string
	// Object is the live object to Explain.
	Object *unstructured.Unstructured

	// before is the observation at the time of the request, nil if there was none.
	before *observation
	// listed is the version of the newest list of the location at that time.
	listed string
	// unverified is progress.unverified of the node at that time.
	unverified string
}

// Target is an object that the driver is to read or to watch.
type Target struct {
	inventory.Key
	Version string
	// Labeled is set if the object is expected to have the graph's labels, so that
	// a label selector finds it.
	Labeled bool
	// Left is set if the object left the graph. If the cluster doesn't serve its
	// kind in this version, it is unknown whether the object exists.
	Left bool
	// Unreadable is set if the last attempt to read the object failed, for example
	// because the graph's account may not read it.
	Unreadable bool
}

// ApplyRequest has the desired state of an object and the conditions under which
// it may be written.
type ApplyRequest struct {
	// Object is the desired object, with references resolved.
	Object map[string]any
	// Generates are values of Object to be generated, for example passwords.
	Generates []reference.Generate
	// Unknown are parts that are left out of Object because their values are known
	// only after the apply. Only [ModePlan] has them.
	Unknown []resolve.Unknown
	// Manager is the field manager.
	Manager string
	// UID is the observed object. If it is "", the object must be created, and an
	// object that appeared in the meantime must not be touched.
	UID types.UID
	// Version is the resourceVersion of the observed object.
	Version string
	// Force takes conflicting fields from their managers.
	Force bool
	// Adopt first moves the fields of other appliers (kubectl, Helm, the original
	// operator) to Manager, so that fields that aren't desired are removed.
	Adopt bool
	// Ignore are fields that keep their values in an existing object.
	Ignore []fields.Path
	// HandOverReplicas is set if Manager owns spec.replicas and doesn't set it any
	// more. The field keeps its value until an autoscaler takes it.
	HandOverReplicas bool
	// Drift is set if the object was applied as desired and changed since.
	Drift bool
}

// Outcome is the answer to an action.
type Outcome struct {
	// Err is nil, a [*Failure], or any other error, which is retried.
	Err error
	// Object is the live object after Read, Apply, Delete and Release, nil if there
	// is none.
	Object *unstructured.Unstructured
	// Namespaced is the answer to Discover.
	Namespaced bool
	// Created and Changed describe the effect of an Apply.
	Created, Changed bool
	// Taken are the fields that an Apply took from other managers, or that
	// Compare found to differ.
	Taken []Conflict
	// Objects are the objects that a Survey found. Targets that are neither among
	// them nor in Unreadable don't exist.
	Objects []*unstructured.Unstructured
	// Unreadable are targets that the Survey couldn't read, with the reason, which
	// may be nil. They are read one by one later.
	Unreadable map[inventory.Key]error
	// Unlisted is why a Survey couldn't list some kind, nil if it listed all. Objects
	// of that kind may have the graph's labels and be missing in Objects.
	Unlisted error
	// Unsearched are the API groups whose objects a Survey with Search couldn't find.
	Unsearched []Unsearched
	// Claims are the objects that other graphs list.
	Claims inventory.Claims
	// Found is the answer to Explain. Its message is "" if no cause was found, and its
	// state is "" unless it replaces that of the object's own status.
	Found readiness.Verdict
	// Saved is the inventory as it was recorded.
	Saved *inventory.Inventory
}

// Unsearched is an API group in which objects with the graph's labels couldn't be
// searched.
type Unsearched struct{ Group, Reason string }
