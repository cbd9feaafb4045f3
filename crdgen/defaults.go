package crdgen

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// writeDefault writes the default of f into its schema.
//
// An API server sets defaults before it stores an object, so that a default is
// taken for the instance's own value when the instance is rendered. Package read
// therefore keeps only defaults with which an instance renders the same as
// without; it drops those that depend on other fields, or that other fields are
// equal to. Inside of a choice no default is written, because it would depend on
// the member that the instance means. Rendering supplies all other defaults. For
// replicas: *1 | int it writes default: 1. For {name: string, host: *name |
// string} host gets no default.
func writeDefault(out *props, f shape.Field, at location) {
	if at.defaults && f.Default != nil {
		out.Default = &apiextensionsv1.JSON{Raw: f.Default}
	}
}
