package run

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/inventory"
)

// jsonStates is the display of -o json: each state of a graph or an object that differs from
// the last one is a JSON object on a line. Follow reports states that may have
// changed, so equal ones are common.
type jsonStates struct {
	mu   sync.Mutex // guards all fields
	w    io.Writer
	last map[any]string // JSON of the last state, by inventory.Owner or inventory.Key
	err  error          // first error of encoding or writing
}

// Show implements stateView.
func (j *jsonStates) Show(s *applier.State) {
	j.show(s.Owner, statusview.NewReport([]*applier.State{s}).Graphs[0])
}

// ShowObject implements objectView. The state has the field kind, which that of a graph hasn't.
func (j *jsonStates) ShowObject(key inventory.Key, state statusview.Row) {
	j.show(key, withKind{state})
}

// withKind is a state with the field kind.
type withKind struct{ statusview.Row }

// MarshalJSON implements [json.Marshaler].
func (r withKind) MarshalJSON() ([]byte, error) {
	state, err := json.Marshal(r.Row)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"kind":"`+r.Kind()+`",`), state[1:]...), nil
}

// show prints a state, unless it is equal to the last one of the key.
func (j *jsonStates) show(key, state any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	data, err := json.Marshal(state)
	if err == nil && j.last[key] != string(data) {
		_, err = fmt.Fprintf(j.w, "%s\n", data)
	}
	if j.last == nil {
		j.last = map[any]string{}
	}
	j.last[key] = string(data)
	if j.err == nil {
		j.err = err
	}
}

// Err implements stateView.
func (j *jsonStates) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Gone writes nothing: a graph that no longer exists has no state.
func (j *jsonStates) Gone(inventory.Owner) {}

// GoneObject writes nothing, as Gone.
func (j *jsonStates) GoneObject(inventory.Key) {}

// Close writes nothing.
func (j *jsonStates) Close() {}
