package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/inventory"
)

// Mode selects what an engine does with a graph.
type Mode int

// The modes.
const (
	// ModeApply makes the cluster match the graph.
	ModeApply Mode = iota
	// ModeDelete removes every object in an inventory. [NewDelete] sets it.
	ModeDelete
	// ModePlan predicts an apply. The driver answers writes with their predicted
	// results, for example from dry runs. An object counts as ready once its
	// result is predicted, failed nodes don't block their dependents, and values
	// that are known only after the apply are left out of objects, see
	// [ApplyRequest.Unknown].
	ModePlan
	// ModeStatus only observes: it requests neither writes nor records. A node
	// that an apply would write is Pending, with a message that says why. It
	// implies Options.Prune and Options.AllowEmpty, so that objects that left the
	// graph are listed.
	ModeStatus
)

// DriftHandling selects what the engine does with drift: changes that others
// made to fields that the graph manages.
type DriftHandling int

// The ways to handle drift.
const (
	// CorrectDrift applies the object again.
	CorrectDrift DriftHandling = iota
	// ReportDrift keeps the changes and marks the node as drifted.
	ReportDrift
	// ReportDriftedFields is ReportDrift, and also looks up which fields changed
	// and which managers changed them. It costs one request per change.
	ReportDriftedFields
)

// Options configure an engine. The zero value applies and never prunes.
type Options struct {
	Mode Mode
	// Prune removes objects that left the graph.
	Prune bool
	// NameDrift looks up which fields of a drifted object others changed, in [ModeStatus]
	// with [CorrectDrift]. It costs one request per drifted object.
	NameDrift bool
	// PruneGrace is how long an object stays after it left the graph, so that another
	// graph can list it meanwhile. It doesn't apply to [ModeDelete]. In [ModeStatus],
	// every object whose departure is recorded stays.
	PruneGrace time.Duration
	// Departures remembers when grace periods began. Nil means that this engine is the
	// first of its process, and that only the recorded times count.
	Departures *Departures
	// Wall is the wall clock, for times in the inventory. Nil means the wall clock of
	// the steps.
	Wall func() time.Time
	// AllowEmpty permits a graph without nodes, which prunes every object.
	AllowEmpty bool
	// ForceConflicts takes fields from other managers, regardless of the
	// conflict policies of the nodes.
	ForceConflicts bool
	// Drift selects what happens to changes made by others.
	Drift DriftHandling
	// HandsOver reports whether the graph owner, which is applied at the same
	// time, is about to hand the object over to this graph. The engine then waits
	// for the object instead of failing. Nil means that no graph does.
	HandsOver func(key inventory.Key, owner inventory.Owner) bool
	// AdoptHint is how the user of the graph lets it adopt objects that exist, for messages. If it
	// is empty, the user sets fields of the graph.
	AdoptHint string
	// Orphan releases removed objects instead of deleting them.
	Orphan bool
	// NoWait starts to delete the next level of objects when the deletion of the
	// previous one was requested, without waiting until its objects are gone.
	NoWait bool
	// ExplainInterval is the time between two lookups of the cause why a node
	// isn't ready. 0 disables the lookups.
	ExplainInterval time.Duration
	// PollInterval is the time after which the objects that the engine waits for are
	// read, in case that their watch missed a change. An event of the watch puts that
	// off, and polls without news become rarer. 0 disables polling.
	PollInterval time.Duration
	// ReadTrust is how long after an answer to the graph's account what watches report
	// of the same object is passed on to expressions. Later, objects are
	// read as the account first. 0 trusts watches without limit, because they have the
	// rights of the account.
	ReadTrust time.Duration
	// Backoff is the time between attempts.
	Backoff Backoff
	// Damper limits writes while the graph stays the same. Nil means no limit.
	Damper *Damper
	// NeverApplied declares that the graph was never applied. Its objects are
	// assumed to be absent without a Survey, except those that may be adopted. If
	// an object exists nevertheless, its creation is refused and it is read then.
	NeverApplied bool
	// IntentImplied declares that the cluster shows that the graph may have been
	// applied, even if the process is killed before anything is recorded: the next
	// engine then has the option Applied. So the first write needs no Record. It has an
	// effect only together with NeverApplied.
	IntentImplied bool
	// Applied declares that the graph was applied before. If no inventory is stored, it
	// was lost, and the Survey searches all kinds for objects with the graph's labels.
	Applied bool
	// Bucket is the value of [v1alpha1.LabelBucket] that objects get when they are written, and that those
	// have which watches by labels report. "" keeps the label that an object has.
	Bucket string
	// Managers are field managers of the graph besides [FieldManager] and those of its
	// nodes: an object whose label they set was applied by the graph.
	Managers []string
	// Namespaced reports the scope of kinds that neither Kubernetes nor the graph
	// defines, and whether the scope is known. It must not guess. The engine requests
	// a [Discover] for kinds whose scope isn't known. Nil knows no kind.
	Namespaced func(schema.GroupVersionKind) (namespaced, known bool)
}
