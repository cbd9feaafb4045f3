package crdgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
)

// crdScheme converts CRDs between the versioned and the internal API type. It
// is built on first use, because most commands don't need it and registering
// types takes start-up time.
var crdScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, apiextensionsv1.AddToScheme(scheme)
})

// problemsError joins the API server's errors, with the name of the CRD.
func problemsError(crd *apiextensionsv1.CustomResourceDefinition, problems fieldpath.ErrorList) error {
	var all []error
	for _, e := range problems {
		all = append(all, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, e))
	}
	return errors.Join(all...)
}

// problemsOf returns the errors that an API server finds in crd: in names, the
// structural schema, defaults, and CEL with its cost. It changes nothing in crd.
func problemsOf(crd *apiextensionsv1.CustomResourceDefinition) (fieldpath.ErrorList, error) {
	internal, err := internalOf(crd)
	if err != nil {
		return nil, err
	}
	// The validation only computes, so there is nothing to cancel.
	return validation.ValidateCustomResourceDefinition(context.Background(), internal), nil
}

// internalOf returns crd as the API server's internal type, with defaults set.
// crd itself stays as it is.
func internalOf(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	scheme, err := crdScheme()
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	defaulted := copyOf(crd)
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
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return &internal, nil
}

// copyOf returns a copy of crd in which defaults can be set. It shares the
// schemas, which are most of a CRD: they take no defaults, and validation only
// reads them.
func copyOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	bare := *crd
	bare.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range bare.Spec.Versions {
		bare.Spec.Versions[i].Schema = nil
	}
	out := bare.DeepCopy()
	for i := range out.Spec.Versions {
		out.Spec.Versions[i].Schema = crd.Spec.Versions[i].Schema
	}
	return out
}
