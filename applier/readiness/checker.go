package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// State is what an object is, as far as its readiness goes.
type State string

// The states of an object.
const (
	Ready       State = "Ready"
	Progressing State = "Progressing"
	Failed      State = "Failed"
)

// Verdict is the judgement on one object.
type Verdict struct {
	State State
	// Message says in one short line why an object isn't ready; it is empty for
	// one that is.
	Message string
}

// maxMessage bounds messages: they hold what controllers write.
const maxMessage = 300

func progressing(format string, args ...any) Verdict {
	return Verdict{Progressing, source.OneLine(fmt.Sprintf(format, args...), maxMessage)}
}

func failed(format string, args ...any) Verdict {
	return Verdict{Failed, source.OneLine(fmt.Sprintf(format, args...), maxMessage)}
}

// Checker holds the checks of one node. Any number of goroutines may use it.
type Checker struct {
	checks []check
	exists bool // there is no check but Exists
	heavy  bool // there is a program among the checks
}

// HasExpressions says that the gate holds compiled expressions, which take many times
// the space of anything else that is known of an object.
func (g *Checker) HasExpressions() bool { return g.heavy }

// check judges an object that exists, isn't being deleted, and whose status is
// of its present generation.
type check func(*unstructured.Unstructured) Verdict

// Compile makes the gate of a node of a graph without problems.
func Compile(n *graph.Node) (*Checker, error) {
	g := &Checker{exists: len(n.ReadyWhen) > 0}
	for k, c := range n.ReadyWhen {
		var made check
		switch c.Type {
		case v1alpha1.ReadyExists:
			continue
		case v1alpha1.ReadyDeploymentAvailable:
			made = deploymentAvailable
		case v1alpha1.ReadyConditionMatch:
			made = conditionMatch(c.ConditionType, c.ConditionStatus)
		case v1alpha1.ReadyLoadBalancer:
			made = loadBalancerReady
		case v1alpha1.ReadyJobComplete:
			made = jobComplete
		case v1alpha1.ReadyExpression:
			if n.Ready[k] == nil {
				return nil, fmt.Errorf("node %s: readyWhen[%d].expr: doesn't compile", n.ID, k)
			}
			var err error
			g.heavy = true
			if made, err = expression(n.Ready[k]); err != nil {
				return nil, fmt.Errorf("node %s: readyWhen[%d].expr: %w", n.ID, k, err)
			}
		default:
			return nil, fmt.Errorf("node %s: readyWhen[%d]: unknown type %q", n.ID, k, c.Type)
		}
		g.checks = append(g.checks, made)
		g.exists = false
	}
	return g, nil
}

// Evaluate judges the live object, nil if there is none. The object isn't changed.
func (g *Checker) Evaluate(object *unstructured.Unstructured) Verdict {
	if object == nil {
		return progressing("doesn't exist yet")
	}
	if v, deleting := beingDeleted(object); deleting {
		return v
	}
	if g.exists {
		return Verdict{State: Ready}
	}
	if generation, stale := staleStatus(object); stale {
		return progressing("its controller hasn't seen generation %d yet", generation)
	}
	if len(g.checks) == 0 {
		return current(object)
	}
	verdict := Verdict{State: Ready}
	for _, check := range g.checks {
		switch v := check(object); {
		case v.State == Failed:
			return v
		case v.State == Progressing && verdict.State == Ready:
			verdict = v
		}
	}
	if verdict.State == Progressing {
		// What no check asks for can still say that there is nothing to wait for.
		if result, err := compute(object); err == nil && result.Status == status.FailedStatus {
			return failed("%s", wording(object, result))
		}
	}
	return verdict
}
