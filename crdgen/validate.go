package crdgen

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// crdScheme converts CRDs between the API's type and the API server's own. It
// is made on first use: registration costs start-up time that most commands
// don't need to spend.
var crdScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, apiextensionsv1.AddToScheme(scheme)
})

// Validate says whether an API server would take crd, with the API server's own
// code: names, structural schema, defaults, CEL and its cost. The error lists
// every problem, each on a line with its field.
func Validate(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	scheme, err := crdScheme()
	if err != nil {
		return fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	defaulted := crd.DeepCopy()
	scheme.Default(defaulted)
	// The API server sets the stored versions before it validates.
	defaulted.Status.StoredVersions = nil
	for _, v := range defaulted.Spec.Versions {
		if v.Storage {
			defaulted.Status.StoredVersions = append(defaulted.Status.StoredVersions, v.Name)
		}
	}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(defaulted, &internal, nil); err != nil {
		return fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	var problems []error
	for _, e := range validation.ValidateCustomResourceDefinition(ctx, &internal) {
		problems = append(problems, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, e))
	}
	return errors.Join(problems...)
}
