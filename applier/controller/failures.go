package controller

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/engine"
)

// fail ends the run because of an error that may be transient. The driver
// retries after a backoff.
func (r *run) fail(err error) {
	if r.ended() {
		return // another run begins in any case
	}
	r.end()
	r.host.failed(r.goal, err)
}

// failWrite ends the run because the status couldn't be written. If no write of
// the status can succeed, the graph is stalled instead.
func (r *run) failWrite(err error) {
	reason, message := unwritable(err)
	switch {
	case reason != "" && r.goal.verb == verbExecute && r.phase == executing:
		r.stall(reason, message)
	case errors.Is(err, graphs.ErrSuperseded):
		r.end()
		r.host.restart()
	default:
		r.fail(err)
	}
}

// invalidReason returns the reason and the message of a graph that the engine
// refuses.
func invalidReason(err error) (reason, message string) {
	var invalid *engine.InvalidError
	if errors.As(err, &invalid) {
		if p, over := graph.OverBudget(invalid.Problems); over {
			return reasonOverBudget, p.String()
		}
	}
	return reasonInvalid, err.Error()
}

// unwritable returns the reason and a message if a status can't be stored
// however often that is tried, or empty strings. Either it is too large, which
// the API server finds for requests and etcd for objects, or it has a value that
// the definition of ResourceGraphs doesn't allow, such as a name that no object
// could have.
func unwritable(err error) (reason, message string) {
	switch {
	case err == nil:
		return "", ""
	case apierrors.IsRequestEntityTooLargeError(err), strings.Contains(err.Error(), "request is too large"):
		return reasonTooLarge, "the graph and its status are larger than the cluster can store: " + cluster.Classify(err).Message + "; split the graph"
	case apierrors.IsInvalid(err):
		return reasonInvalid, "the inventory can't be stored in the status: " + cluster.Classify(err).Error()
	}
	return "", ""
}
