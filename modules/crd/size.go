package crd

import (
	"encoding/json"
	"fmt"

	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
)

// warnSize is the size in bytes from which a CRD is near the limit of etcd. etcd
// refuses requests over 1.5 MiB, and managedFields, which has every field of the
// schema, adds up to half as much as the CRD has.
const warnSize = 1 << 20

// sizeProblem returns the warning that a CRD is near etcd's limit, or nothing. from
// is the name of the platform. The size is that of the JSON that the API server stores;
// the YAML of a deeply nested schema has more than twice as much, in indentation.
func sizeProblem(made *crdgen.Result, from string) (problem.List, error) {
	data, err := json.Marshal(made.CRD)
	if err != nil {
		return nil, fmt.Errorf("%s: measuring the CRD: %w", from, err)
	}
	if len(data) < warnSize {
		return nil, nil
	}
	return problem.List{{
		Severity: problem.Warning, Position: problem.Position{File: from}, Path: made.CRD.Name, Rule: problem.RuleSize,
		Message: fmt.Sprintf("the CRD has %d KiB; etcd refuses objects over 1.5 MiB with their managedFields, so shorten descriptions or split the kind, and apply the CRD with kubectl apply --server-side", len(data)>>10),
	}}, nil
}
