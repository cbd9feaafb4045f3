package resolve

import (
	"errors"
	"slices"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// Lookup gives the live object of a node by the node's id, nil where there is
// none. The object isn't changed.
type Lookup func(id string) map[string]any

// Resolver resolves the references of one graph. It keeps the programs of the
// expressions it ran, and is for one goroutine at a time.
type Resolver struct {
	graph    *graph.Graph
	outputs  map[string]any
	programs map[string]*reference.Program // by expression
}

// New returns the resolver of a graph that has no problems. Expressions are
// planned when they are first needed.
func New(g *graph.Graph) (*Resolver, error) {
	outputs, err := g.DecodeOutputs()
	if err != nil {
		return nil, err
	}
	return &Resolver{graph: g, outputs: outputs, programs: map[string]*reference.Program{}}, nil
}

// Reads returns the ids of the nodes that references read, those of outputs
// included: only their live objects are ever asked for.
func (r *Resolver) Reads() map[string]bool {
	reads := map[string]bool{}
	add := func(references []graph.Late) {
		for _, late := range references {
			for _, id := range late.Nodes() {
				reads[id] = true
			}
		}
	}
	for i := range r.graph.Nodes {
		add(r.graph.Nodes[i].References)
	}
	add(r.graph.Outputs)
	return reads
}

// place is where a reference stands, and with it what it may read.
type place struct {
	node    string
	path    reference.Path
	secrets bool   // values of Secrets may stand here
	refusal string // what is said where they may not
}

func (r *Resolver) value(late graph.Late, at place, live Lookup) (any, error) {
	data := make(map[string]any, len(late.Nodes()))
	secret := false
	for _, id := range late.Nodes() {
		object := live(id)
		if object == nil {
			continue
		}
		if graph.IsSecret(object) {
			if at.secrets {
				secret = true
			} else {
				object = withoutValues(object, "values of the Secret of node "+id+" "+at.refusal)
			}
		}
		data[id] = object
	}
	program, err := r.program(late.Expression)
	if err != nil {
		return nil, r.evalError(late, at, err.Error())
	}
	value, err := program.Eval(data)
	var missing *reference.Missing
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &missing):
		message := missing.Error()
		if secret {
			// A key that is looked up may itself come from a Secret.
			message = "waits for what it reads of " + idList(late.Nodes())
		}
		return nil, &WaitError{
			Node: at.node, Path: at.path.String(), Expr: late.String(),
			Reads: slices.Clone(late.Nodes()), Message: message,
		}
	case secret:
		return nil, r.evalError(late, at, "can't be evaluated; the cause isn't shown because it may quote a Secret")
	}
	return nil, r.evalError(late, at, err.Error())
}

func (r *Resolver) program(e *reference.Expression) (*reference.Program, error) {
	if p, ok := r.programs[e.String()]; ok {
		return p, nil
	}
	p, err := e.Plan()
	if err != nil {
		return nil, err
	}
	r.programs[e.String()] = p
	return p, nil
}

func (r *Resolver) evalError(late graph.Late, at place, message string) *EvalError {
	return &EvalError{Node: at.node, Path: at.path.String(), Expr: late.String(), Message: message}
}

func idList(ids []string) string {
	text := ids[0]
	for i, id := range ids[1:] {
		if i == len(ids)-2 {
			text += " and " + id
		} else {
			text += ", " + id
		}
	}
	return text
}
