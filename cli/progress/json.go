package progress

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// JSON writes a stream of events, a JSON object on each line: every change of
// every node, warnings, and for each graph a result.
type JSON struct {
	mu  sync.Mutex
	enc *json.Encoder
	now func() time.Time
	err error
}

// NewJSON writes to w.
func NewJSON(w io.Writer, now func() time.Time) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{enc: enc, now: now}
}

// header begins each event.
type header struct {
	Time time.Time `json:"time"`
	// Type is "node", for a node of the graph; "object", for an object that left
	// it; "warning", or "result".
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
	// Phase is Pending, Blocked, Waiting, Applying, Progressing, Ready or Failed;
	// of objects that left, Pending, Deleting, Gone or Failed.
	Phase v1alpha1.NodePhase `json:"phase"`
	// Op is what was done: created, configured, unchanged, adopted, recreated,
	// corrected, observed, deleted or released.
	Op engine.Operation `json:"op,omitempty"`
	// Reason is a word for the failure.
	Reason string `json:"reason,omitempty"`
	// Message says what the object waits for, or failed of.
	Message   string `json:"message,omitempty"`
	BlockedBy string `json:"blockedBy,omitempty"`
	// Taken are fields that were taken from other managers.
	Taken []taken `json:"taken,omitempty"`
	// Drifted says that others changed the object, and that the graph leaves it so.
	Drifted bool `json:"drifted,omitempty"`
	// Attempts counts the tries that failed in a row.
	Attempts    int        `json:"attempts,omitempty"`
	NextAttempt *time.Time `json:"nextAttempt,omitempty"`
}

type objectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

type taken struct {
	Field   string `json:"field"`
	Manager string `json:"manager"`
}

// result is an event of type result.
type result struct {
	header
	// Phase is how far the graph is: Executing, Pruning, Completed or Stuck.
	Phase engine.Phase `json:"phase,omitempty"`
	// Ready says whether it ended as it was to.
	Ready bool `json:"ready"`
	// Error is what ended it before it was through.
	Error string `json:"error,omitempty"`
	// Trouble is what kept the run from asking the cluster when it ended.
	Trouble string `json:"trouble,omitempty"`
	// Elapsed is in seconds.
	Elapsed float64 `json:"elapsed"`
	// Counts are by op.
	Counts map[engine.Operation]int `json:"counts"`
	Nodes  nodeCounts               `json:"nodes"`
	// Outputs are those of the graph; Unknown says of each that can't be told why.
	Outputs map[string]any    `json:"outputs,omitempty"`
	Unknown map[string]string `json:"unknown,omitempty"`
}

type warning struct {
	header
	Message string `json:"message"`
}

type nodeCounts struct {
	Total   int `json:"total"`
	Ready   int `json:"ready"`
	Failed  int `json:"failed"`
	Blocked int `json:"blocked"`
	// Drifted nodes are ready, and were changed by others since they were applied.
	Drifted int `json:"drifted,omitempty"`
}

func (j *JSON) write(e any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.enc.Encode(e); err != nil && j.err == nil {
		j.err = err
	}
}

// Err is the first error of writing.
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
		Object: objectRef{apiVersion(e.Status), e.Key.Kind, e.Key.Namespace, e.Key.Name},
	}
	for _, t := range e.Taken {
		c.Taken = append(c.Taken, taken{t.Field, t.Manager})
	}
	if !e.NextAttempt.IsZero() {
		c.NextAttempt = new(e.NextAttempt.UTC())
	}
	j.write(c)
}

func apiVersion(s engine.Status) string {
	if s.Key.Group == "" {
		return s.Version
	}
	return s.Key.Group + "/" + s.Version
}

// Warn writes an event of type warning.
func (j *JSON) Warn(text string) {
	j.write(warning{header{j.now().UTC(), "warning", ""}, text})
}

// End writes an event of type result.
func (j *JSON) End(e End) {
	c := e.count()
	r := result{
		header: header{j.now().UTC(), "result", e.Graph.String()},
		Ready:  e.Ready(), Elapsed: float64(e.Elapsed.Milliseconds()) / 1000, Counts: c.ops,
		Nodes: nodeCounts{c.nodes, c.ready, c.failed, c.blocked, c.drifted},
	}
	if e.Err != nil {
		r.Error = oneLine(e.Err.Error())
	}
	if e.Result != nil {
		if e.Result.RequestError != nil && !r.Ready {
			r.Trouble = oneLine(e.Result.RequestError.Error())
		}
		r.Phase, r.Outputs = e.Result.Phase, e.Result.Outputs
		for name, why := range e.Result.OutputErrors {
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
