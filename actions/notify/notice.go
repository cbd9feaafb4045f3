package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/history"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/fluxowner"
	"github.com/pequod-io/pequod/internal/source"
)

// maxText is the number of bytes of a message.
const maxText = 2048

// Notice is something that happened to an object.
type Notice struct {
	// ID is the same whenever the notice is made.
	ID     string
	Object corev1.ObjectReference
	// Resource is the name of its kind in paths of the API, or "" if it is unknown.
	Resource string
	// Applied is the object of Flux that applied Object, nil if none did.
	Applied *corev1.ObjectReference
	// Revision is the revision that Applied has applied. It is empty if it is unknown.
	Revision Revision
	// Failed is set if somebody has to do something.
	Failed bool
	// Reason is a word, and Message one line.
	Reason, Message string
	// At is when it happened, of a series for the last time.
	At time.Time
	// Count is how often it happened.
	Count int
	// Generation is that of the graph that was executed, or 0.
	Generation int64
	// Reporter is the program that reported it, and Instance its process.
	Reporter, Instance string
}

// reporters are the programs whose Events are reported. Events of others about objects of Pequod
// may say anything.
var reporters = []string{v1alpha1.ApplierProgram, v1alpha1.ManagerProgram, v1alpha1.ActionsProgram}

// OfEvent returns the notice of an Event. It returns false for an Event that no program of Pequod has
// emitted.
func OfEvent(e *eventsv1.Event) (Notice, bool) {
	if !slices.Contains(reporters, e.ReportingController) || e.Regarding.Kind == "" || e.Regarding.Name == "" || e.Namespace != cmp.Or(e.Regarding.Namespace, metav1.NamespaceDefault) {
		return Notice{}, false
	}
	row := history.EventOf(e)
	n := Notice{
		ID: row.UID + "-" + strconv.Itoa(row.Count), Failed: e.Type == corev1.EventTypeWarning,
		Object: corev1.ObjectReference{
			APIVersion: e.Regarding.APIVersion, Kind: e.Regarding.Kind, Namespace: e.Regarding.Namespace, Name: e.Regarding.Name, UID: e.Regarding.UID,
		},
		Reason: e.Reason, Message: source.OneLine(e.Note, maxText), At: row.LastAt, Count: row.Count,
		Reporter: e.ReportingController, Instance: e.ReportingInstance,
	}
	// The applier has the object of a node there, which may be one of Flux, too.
	if by := e.Related; e.ReportingController == v1alpha1.ManagerProgram && (fluxowner.Is(by, fluxowner.Kustomization) || fluxowner.Is(by, fluxowner.HelmRelease)) {
		n.Applied = by
	}
	return n, true
}

// OfGraph returns the notices of executions that have completed a revision of a graph, oldest
// first. Failures and corrections of drift have Events.
func OfGraph(rg *v1alpha1.ResourceGraph) []Notice {
	var notices []Notice
	for i, r := range slices.Backward(rg.Status.History) {
		completed := func(before v1alpha1.Revision) bool {
			return before.Revision == r.Revision && before.Result == v1alpha1.GraphCompleted
		}
		if r.Result != v1alpha1.GraphCompleted || r.Attempt == 0 || slices.ContainsFunc(rg.Status.History[i+1:], completed) {
			continue
		}
		notices = append(notices, Notice{
			// Without the attempt: the entry that completed a revision first leaves the history before the others.
			ID: fmt.Sprintf("%s-%d-completed", rg.UID, r.Revision),
			Object: corev1.ObjectReference{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResourceGraph", Namespace: rg.Namespace, Name: rg.Name, UID: rg.UID,
			},
			Reason:  string(r.Result),
			Message: source.OneLine(fmt.Sprintf("generation %d: %s: created %d, updated %d, deleted %d in %s", r.Revision, r.Message, r.Created, r.Updated, r.Deleted, r.Duration), maxText),
			At:      r.FinishedAt.UTC(), Count: 1, Generation: r.Revision, Reporter: v1alpha1.ApplierProgram,
		})
	}
	return notices
}

// of describes an object in a message: "ResourceGraph shop/web".
func of(o corev1.ObjectReference) string { return o.Kind + " " + path(o) }

// path returns NAMESPACE/NAME, or the name of an object that is in no namespace.
func path(o corev1.ObjectReference) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}
