package crd

import (
	"fmt"

	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
)

// warnSize is the size in bytes from which a CRD is near the limit of etcd. etcd
// refuses requests over 1.5 MiB, and managedFields, which has every field of the
// schema, adds up to half as much as the CRD has.
const warnSize = 1 << 20

// sizeProblem returns the warning that a CRD is near etcd's limit, or nothing. from
// is the name of the platform.
func sizeProblem(made *crdgen.Result, from string) (problem.List, error) {
	data, err := crdgen.Marshal(made.CRD)
	if err != nil || len(data) < warnSize {
		return nil, err
	}
	return problem.List{{
		Severity: problem.Warning, Position: problem.Position{File: from}, Path: made.CRD.Name, Rule: problem.RuleSize,
		Message: fmt.Sprintf("the CRD has %d KiB; etcd refuses objects over 1.5 MiB with their managedFields, so shorten descriptions or split the kind", len(data)>>10),
	}}, nil
}
