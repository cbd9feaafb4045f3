package main

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/pequod-io/pequod/operator/transform"
)

// TestScopes checks that each kind of the cache has a scope: without one, the manager can't start
// while the API server is away.
func TestScopes(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := transform.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := admissionv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	known := scopes()
	objects := (&options{namespace: "a"}).cached()
	for object := range objects {
		kind, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		if known[kind] == nil {
			t.Errorf("%s has no scope", kind)
		}
		delete(known, kind)
	}
	for kind := range known {
		t.Errorf("%s is not in the cache", kind)
	}
}
