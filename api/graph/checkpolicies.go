package graph

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// checkPolicies checks the name and the fields of the spec outside of spec.graph. The
// paths of its problems start with metadata and spec.
func (g *Graph) checkPolicies(add addFunc) {
	spec := &g.source.Spec
	// A longer name would be shortened in labels, to a name that another graph may have.
	if name := g.source.Name; v1alpha1.LabelValue(name) != name {
		add("", "metadata.name", fmt.Sprintf("%q has more than 63 characters", name), "it is a label of the objects")
	}
	checkOneOf(add, "", "spec.deletionPolicy", "policy", spec.DeletionPolicy, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
	checkOneOf(add, "", "spec.driftPolicy", "policy", spec.DriftPolicy, v1alpha1.DriftCorrect, v1alpha1.DriftReport)
	if name := spec.ServiceAccountName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		add("", "spec.serviceAccountName", fmt.Sprintf("%q is not the name of a service account", name), "")
	}
	if spec.KubeConfig != nil {
		checkSecretKey(spec.KubeConfig.SecretRef, add)
	}
	if spec.Adopt != nil {
		checkAdopt(spec.Adopt, add)
	}
}

// checkSecretKey rejects names that no Secret and no key of a Secret can have.
func checkSecretKey(ref v1alpha1.SecretKeyReference, add addFunc) {
	const path = "spec.kubeConfig.secretRef."
	if ref.Name == "" {
		add("", path+"name", "is missing", "")
	} else if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		add("", path+"name", fmt.Sprintf("%q is not the name of a Secret", ref.Name), "")
	}
	if ref.Key != "" && len(validation.IsConfigMapKey(ref.Key)) > 0 {
		add("", path+"key", fmt.Sprintf("%q is not a key of a Secret", ref.Key), "")
	}
}

// checkAdopt rejects ambiguous and incomplete adoption settings. It is strict
// because an object that is adopted by mistake is not given back.
func checkAdopt(adopt *v1alpha1.Adopt, add addFunc) {
	checkOneOf(add, "", "spec.adopt.mode", "mode", adopt.Mode, v1alpha1.AdoptExplicit, v1alpha1.AdoptLabelSelector)
	checkOneOf(add, "", "spec.adopt.strategy", "strategy", adopt.Strategy, v1alpha1.AdoptTakeOwnership, v1alpha1.AdoptMirror)
	for i, ref := range adopt.Resources {
		path := fmt.Sprintf("spec.adopt.resources[%d].", i)
		if ref.APIVersion == "" {
			add("", path+"apiVersion", "is missing", "")
		} else if _, err := schema.ParseGroupVersion(ref.APIVersion); err != nil {
			add("", path+"apiVersion", fmt.Sprintf("%q is not an apiVersion", ref.APIVersion), "such as v1 or apps/v1")
		}
		if ref.Kind == "" {
			add("", path+"kind", "is missing", "")
		}
		if ref.Name == "" {
			add("", path+"name", "is missing", "")
		}
		for field, wrong := range wrongNames(ref) {
			add("", path+field, wrong, "")
		}
	}
	const path = "spec.adopt.labelSelector"
	selector, err := metav1.LabelSelectorAsSelector(adopt.LabelSelector)
	switch {
	case err != nil:
		add("", path, err.Error(), "")
	case adopt.LabelSelector == nil && adopt.Mode == v1alpha1.AdoptLabelSelector:
		add("", path, "is missing", "mode LabelSelector takes the objects that it selects")
	case adopt.LabelSelector == nil:
	case adopt.Mode == v1alpha1.AdoptExplicit || adopt.Mode == "":
		add("", path, "is only for mode LabelSelector", "")
	case selector.Empty():
		add("", path, "selects everything", "name labels that the objects have")
	}
}
