package readiness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Checker evaluates the readiness of one node's object. It is safe for concurrent
// use.
type Checker struct {
	checks []check
	// existsOnly is set if the node has checks and all of them are Exists, so that
	// even an object with a stale status is ready.
	existsOnly bool
	// hasExpressions is set if one of checks runs a compiled expression.
	hasExpressions bool
}

// Default is the checker of nodes without checks of their own.
var Default = &Checker{}

// HasExpressions reports whether the checker has compiled expressions, which take
// many times the memory of everything else that is kept about an object.
func (c *Checker) HasExpressions() bool { return c.hasExpressions }

// Compile returns the checker of a node. The graph must be valid: an error means
// that it isn't.
func Compile(n *graph.Node) (*Checker, error) {
	if len(n.ReadyWhen) == 0 {
		return Default, nil
	}
	c := &Checker{existsOnly: true}
	for i, spec := range n.ReadyWhen {
		compile, ok := checks[spec.Type]
		if !ok {
			return nil, fmt.Errorf("node %s: readyWhen[%d]: unknown type %q", n.ID, i, spec.Type)
		}
		if spec.Type == v1alpha1.ReadyExists {
			continue // Evaluate checks existence for every node
		}
		check, err := compile(spec, n.Ready[i])
		if err != nil {
			return nil, fmt.Errorf("node %s: readyWhen[%d].%w", n.ID, i, err)
		}
		c.checks = append(c.checks, check)
		c.existsOnly = false
		c.hasExpressions = c.hasExpressions || spec.Type == v1alpha1.ReadyExpression
	}
	return c, nil
}

// MaxCost is the maximum cost of all expressions of a node over one object, in CEL's
// units: about a tenth of a second.
const MaxCost = 500_000

// Evaluate returns the verdict on a live object, nil if the object doesn't exist.
// It doesn't change the object.
func (c *Checker) Evaluate(object *unstructured.Unstructured) Verdict {
	verdict, _ := c.Measure(object)
	return verdict
}

// Measure is Evaluate, and also returns the cost of the expressions in CEL's units.
func (c *Checker) Measure(object *unstructured.Unstructured) (verdict Verdict, cost uint64) {
	verdict = c.evaluate(object, &cost)
	return verdict, cost
}

// evaluate is Evaluate, and adds the cost of the expressions to spent.
func (c *Checker) evaluate(object *unstructured.Unstructured, spent *uint64) Verdict {
	if object == nil {
		return progressing("doesn't exist yet")
	}
	if v, deleting := deletionVerdict(object); deleting {
		return v
	}
	if c.existsOnly {
		return Verdict{State: Ready}
	}
	if generation, stale := staleGeneration(object); stale {
		return progressing("its controller hasn't seen generation %d yet", generation)
	}
	if len(c.checks) == 0 {
		return evaluateKstatus(object)
	}
	verdict := Verdict{State: Ready}
	for _, check := range c.checks {
		v := check(object, spent)
		switch {
		case *spent > MaxCost:
			return failed("the readiness expressions of the node cost more than %d together", MaxCost)
		case v.State == Failed:
			return v
		case v.State == Progressing && verdict.State == Ready:
			verdict = v
		}
	}
	if verdict.State == Progressing {
		// The checks may wait for a condition that can't come: kstatus also
		// knows failures that no check of the node looks for.
		c, _ := decisiveCondition(object)
		if result, err := computeKstatus(object); err == nil && result.Status == status.FailedStatus && !c.stale {
			return failed("%s", kstatusMessage(object, result))
		}
	}
	return verdict
}
