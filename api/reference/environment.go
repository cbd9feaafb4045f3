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

// referenceEnvironment is the CEL environment of late references: the CEL libraries
// of Kubernetes, and as the only variable the map of all live nodes by id. The
// resolver rewrites identifiers of nodes to indexes of that map, so one environment
// serves all graphs. Creating an environment takes longer than compiling a hundred
// expressions.
var referenceEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(nodesVariable, cel.MapType(cel.StringType, cel.DynType)))
})

// readinessEnvironment is the CEL environment of readiness expressions. Its only
// variable is the live object.
var readinessEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(objectVariable, cel.DynType))
})

// extend returns Kubernetes' environment for stored expressions with additional
// options. That environment has the libraries of all released Kubernetes versions.
// Pequod evaluates the expressions itself, so they do not depend on the version of
// the cluster.
func extend(opts ...cel.EnvOption) (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	guards, err := guardFunctions(base)
	if err != nil {
		return nil, err
	}
	env, err := base.Extend(append(opts, guards...)...)
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	return env, nil
}
