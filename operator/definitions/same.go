package definitions

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/pequod-io/pequod/operator/definitions/converting"
)

// Same reports whether applying a definition would change nothing: live has its labels, its
// annotations and exactly its spec. A conversion that desired doesn't set may be set by others.
func Same(live, desired *apiextensionsv1.CustomResourceDefinition) bool {
	return contains(live.Labels, desired.Labels) && contains(live.Annotations, desired.Annotations) &&
		equality.Semantic.DeepEqual(&live.Spec, completed(live, desired))
}

// completed returns the spec that the API server stores for desired, with the conversion of
// others that live has if desired has none.
func completed(live, desired *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionSpec {
	defaulted := desired.DeepCopy()
	if defaulted.Spec.Conversion == nil && !converting.ByManager(live.Spec.Conversion) {
		defaulted.Spec.Conversion = live.Spec.Conversion.DeepCopy()
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(defaulted)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&defaulted.Spec)
	return &defaulted.Spec
}

// contains reports whether all has every entry of some.
func contains(all, some map[string]string) bool {
	for key, value := range some {
		if got, ok := all[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// Established reports whether the API server serves the kind.
func Established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
}
