package progress

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// JSON is a [Sink] that writes a stream of events, one JSON object per line:
// every change of every node, every warning, and a result for each graph. Fields
// may be added; none is renamed or removed. For example (one line):
//
//	{"time":"2026-01-05T10:00:00Z","type":"node","graph":"shop/web","node":"app",
//	"object":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web"},
//	"wave":1,"phase":"Ready","op":"created"}
//
// A write error does not stop the run; see Err.
type JSON struct {
	mu  sync.Mutex // guards enc and err
	enc *json.Encoder
	now func() time.Time
	err error // the first error of the writer
}

// NewJSON returns a sink that writes to w. The clock now dates warnings and results;
// changes have a time of their own.
func NewJSON(w io.Writer, now func() time.Time) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{enc: enc, now: now}
}

// header has the fields that every event begins with.
type header struct {
	Time time.Time `json:"time"`
	// Type is "node" for a node of the graph, "object" for an object that left the
	// graph, "warning" or "result".
	Type string `json:"type"`
	// Graph is NAMESPACE/NAME; warnings have none.
	Graph string `json:"graph,omitempty"`
}

// change is an event of type node or object.
type change struct {
	header
	// Node is the node's id.
	Node   string    `json:"node,omitempty"`
	Object objectRef `json:"object"`
	// Wave counts from 1.
	Wave int `json:"wave"`
	// Phase of a node is Pending, Blocked, Waiting, Applying, Progressing, Degraded, Ready or
	// Failed. Phase of an object that left is Pending, Deleting, Gone or Failed.
	Phase v1alpha1.NodePhase `json:"phase"`
	// Op is the operation on the object: created, configured, unchanged, adopted, recreated,
	// corrected, observed, deleted or released.
	Op engine.Operation `json:"op,omitempty"`
	// Reason is one CamelCase word for the failure.
	Reason string `json:"reason,omitempty"`
	// Message describes the failure, or what the object waits for. BlockedBy is the
	// id of the node that it waits for.
	Message   string `json:"message,omitempty"`
	BlockedBy string `json:"blockedBy,omitempty"`
	// Taken lists the fields that were taken from other field managers.
	Taken []taken `json:"taken,omitempty"`
	// Drifted is set if others changed the object and the graph only reports drift.
	Drifted bool `json:"drifted,omitempty"`
	// Attempts counts consecutive failures.
	Attempts    int        `json:"attempts,omitempty"`
	NextAttempt *time.Time `json:"nextAttempt,omitempty"`
}

// objectRef identifies the object of a change.
type objectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// taken is a field with its previous field manager.
type taken struct {
	Field   string `json:"field"`
	Manager string `json:"manager"`
}

// result is an event of type result.
type result struct {
	header
	// Phase is the phase of the run: Executing, Pruning, Completed or Stuck.
	Phase engine.Phase `json:"phase,omitempty"`
	// Ready is set if the run reached its goal.
	Ready bool `json:"ready"`
	// Error is the error that stopped the run early.
	Error string `json:"error,omitempty"`
	// Trouble is the last error of requests to the cluster, if the run could not
	// reach its goal.
	Trouble string `json:"trouble,omitempty"`
	// Elapsed is in seconds.
	Elapsed float64 `json:"elapsed"`
	// Counts has the number of objects by operation.
	Counts map[engine.Operation]int `json:"counts"`
	Nodes  nodeCounts               `json:"nodes"`
	// Outputs has the outputs of the graph. Unknown has, for each output without a
	// value, the reason.
	Outputs map[string]any    `json:"outputs,omitempty"`
	Unknown map[string]string `json:"unknown,omitempty"`
}

// warning is an event of type warning.
type warning struct {
	header
	Message string `json:"message"`
}

// nodeCounts has the number of nodes, and of nodes and other objects by phase.
type nodeCounts struct {
	Total   int `json:"total"`
	Ready   int `json:"ready"`
	Failed  int `json:"failed"`
	Blocked int `json:"blocked"`
	// Drifted nodes are counted as ready too.
	Drifted int `json:"drifted,omitempty"`
}

// write writes one event, and records the first error.
func (j *JSON) write(e any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.enc.Encode(e); err != nil && j.err == nil {
		j.err = err
	}
}

// Err returns the first write error. It may be called at any time.
func (j *JSON) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Change writes an event of type node or object.
func (j *JSON) Change(graph inventory.Owner, e applier.Event) {
	kind := "node"
	if e.ID == "" {
		kind = "object"
	}
	c := change{
		header: header{e.Time.UTC(), kind, graph.String()},
		Node:   e.ID, Wave: e.Wave + 1, Phase: e.Phase, Op: e.Op, Reason: e.Reason,
		Message: e.Message, BlockedBy: e.BlockedBy, Drifted: e.Drifted, Attempts: e.Attempts,
		Object: objectRef{schema.GroupVersion{Group: e.Key.Group, Version: e.Version}.String(), e.Key.Kind, e.Key.Namespace, e.Key.Name},
	}
	for _, t := range e.Taken {
		c.Taken = append(c.Taken, taken{t.Field, t.Manager})
	}
	if !e.NextAttempt.IsZero() {
		c.NextAttempt = new(e.NextAttempt.UTC())
	}
	j.write(c)
}

// Warn writes an event of type warning.
func (j *JSON) Warn(text string) {
	j.write(warning{header{j.now().UTC(), "warning", ""}, text})
}

// Finish writes an event of type result.
func (j *JSON) Finish(o Outcome) {
	c := o.count()
	r := result{
		header: header{j.now().UTC(), "result", o.Graph.String()},
		Ready:  o.Ready(), Elapsed: float64(o.Elapsed.Milliseconds()) / 1000, Counts: c.ops,
		Nodes: c.nodeCounts,
	}
	if o.Err != nil {
		r.Error = oneLine(o.Err.Error())
	}
	if o.Result != nil {
		if o.Result.RequestError != nil && !r.Ready {
			r.Trouble = oneLine(o.Result.RequestError.Error())
		}
		r.Phase, r.Outputs = o.Result.Phase, o.Result.Outputs
		for name, why := range o.Result.OutputErrors {
			if r.Unknown == nil {
				r.Unknown = map[string]string{}
			}
			r.Unknown[name] = why.Error()
		}
	}
	j.write(r)
}

// Close writes nothing.
func (j *JSON) Close() {}
