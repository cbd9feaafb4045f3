package definitions

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestApplied holds that a definition belongs to one Transform, and not to others of its name.
func TestApplied(t *testing.T) {
	definition := func(manager string, labels map[string]string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
			Name: "apps.example.com", Labels: labels,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply}},
		}}
	}
	transform := func(namespace, generated string) *v1alpha1.Transform {
		return &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}, Status: v1alpha1.TransformStatus{GeneratedCRD: generated}}
	}
	own := map[string]string{v1alpha1.LabelTransform: "app", v1alpha1.LabelTransformNamespace: "a"}
	former := map[string]string{v1alpha1.LabelTransform: "app"}
	for name, test := range map[string]struct {
		live *apiextensionsv1.CustomResourceDefinition
		t    *v1alpha1.Transform
		want bool
	}{
		"own":                              {definition(fieldManager, own), transform("a", ""), true},
		"of that name elsewhere":           {definition(fieldManager, own), transform("b", "apps.example.com"), false},
		"written by others":                {definition("kubectl", own), transform("a", "apps.example.com"), false},
		"of an earlier version":            {definition(fieldManager, former), transform("a", "apps.example.com"), true},
		"left behind by another Transform": {definition(fieldManager, former), transform("b", ""), false},
	} {
		if got := Applied(test.live, test.t); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
