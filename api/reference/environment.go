package reference

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The variables of the two environments.
const (
	nodesVariable  = "nodes"
	objectVariable = "object"
)

// referenceEnvironment is where late references are compiled: Kubernetes' CEL
// libraries and one variable, the map of all live nodes by id. That nodes are
// also variables of their own is done by rewriting (see resolver), so that one
// environment serves every graph: making one takes longer than compiling a
// hundred expressions.
var referenceEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(nodesVariable, cel.MapType(cel.StringType, cel.DynType)))
})

// readinessEnvironment is where readiness expressions are compiled: one
// variable, the live object.
var readinessEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(objectVariable, cel.DynType))
})

// extend takes the environment for stored expressions, which has everything
// that any released Kubernetes version has: what compiles here doesn't depend
// on the version of a cluster, because Pequod evaluates it itself.
func extend(opts ...cel.EnvOption) (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	env, err := base.StoredExpressionsEnv().Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	return env, nil
}
